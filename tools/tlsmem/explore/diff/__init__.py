"""What changed between two profiles, call stack by call stack."""
