"""How many connections nginx and we are set up for. Standard library only."""

MOST = 4000  # connections; nginx allocates for as many when it starts: a constant
SPARE = 100  # descriptors besides those of connections
