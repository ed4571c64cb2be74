"""What can be measured: memtest/*.toml, the matrix of runs, and what a user may choose."""
