"""How much fits into the picture of releases. Standard library only."""

LEAST = 3  # releases of a library that was not asked for
MOST = 3  # suites: lines of a panel
