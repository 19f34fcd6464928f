"""What several tests lean on: fakes, waiting, the real programs."""
