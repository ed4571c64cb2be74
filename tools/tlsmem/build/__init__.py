"""From a pinned source to a harness binary."""
