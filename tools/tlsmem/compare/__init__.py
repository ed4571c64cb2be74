"""What changed between two sets of runs, two builds, or two releases."""
