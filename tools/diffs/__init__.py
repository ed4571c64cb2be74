"""What changed between two profiles, by call stack and per session."""
