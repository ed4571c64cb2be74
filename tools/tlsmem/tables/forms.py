"""The four forms of a table, as --format names them. Standard library only."""

TABLE, MARKDOWN, CSV, JSON = FORMATS = ("table", "markdown", "csv", "json")
