"""The forms of a report, as --format names them. Standard library only."""

from tlsmem.tables.forms import CSV, JSON, MARKDOWN

HTML, FILES = "html", "files"
TEXTS = (MARKDOWN, CSV, JSON)
