"""`script/bench`: speed as ratios against a yardstick that is measured in the same run."""
