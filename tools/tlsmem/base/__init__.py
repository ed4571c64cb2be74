"""What every layer may use: paths, standard output, the virtual environment. Standard library only."""
