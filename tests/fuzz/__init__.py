"""Random command lines: whatever bash would run of an accepted one, the guard has seen."""
