"""What people see of a heap profile: views, diffs, flamegraphs."""
