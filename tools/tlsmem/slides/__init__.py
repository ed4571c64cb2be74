"""The pictures of a talk: six slides, each one finding, drawn from recordings."""
