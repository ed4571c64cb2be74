"""How many TLS sessions running processes hold, and how many bytes, from outside."""
