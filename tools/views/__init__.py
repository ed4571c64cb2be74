"""What people see of one profile: tables, a tree of callers, folded stacks, speedscope's file."""
