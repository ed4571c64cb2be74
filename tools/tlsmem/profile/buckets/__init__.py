"""What a block of memory is for: the rules of memtest/buckets.toml and their sums."""
