"""The daemon's own code in a seeded virtual world. See docs/reliability.md."""
