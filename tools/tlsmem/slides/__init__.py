"""The pictures of a talk: slides, each one finding, drawn from recordings."""
