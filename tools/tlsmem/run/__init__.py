"""Start, supervise, check and record runs."""
