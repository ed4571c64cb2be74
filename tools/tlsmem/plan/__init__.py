"""How much memory so many connections need."""
