"""Tables of a recording, and the four ways to print one."""
