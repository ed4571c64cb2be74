"""What a session's bytes are for: rules of memtest/buckets.toml, applied to any profile."""
