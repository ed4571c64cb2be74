"""How Sphinx makes the site of docs/: `make docs`."""

import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT / "tools"), str(ROOT / "docs")]

from tlsmem import __version__  # noqa: E402  its path is set above

project = "tls-memtest"
author = "The tls-memtest authors"
copyright = "2026 the tls-memtest contributors"
version = release = __version__
extensions = ["myst_parser", "sphinxarg.ext"]
myst_heading_anchors = 4
# Rows of Markdown tables in the recordings' pages are long; single words such as `rest` are no definitions.
myst_enable_extensions = []
exclude_patterns = ["figures"]
smartquotes = False  # it turns the -- of an option into a dash
html_theme = "furo"
html_extra_path = [str(ROOT / "build/docs-extra")]  # the report, which `make docs` writes there
html_title = f"tls-memtest {version}"
html_show_sphinx = False
html_copy_source = False
html_use_index = False  # the index would be empty
suppress_warnings = ["myst.header"]  # pages of tables begin below their second heading


def link_outside(app: object, docname: str, source: list[str]) -> None:
    """Show links to files of the repository outside docs/ as their path: the site has none of these files."""
    folder = (ROOT / "docs" / docname).parent

    def shown(link: re.Match[str]) -> str:
        target = (folder / link["file"]).resolve()
        is_page = target.is_relative_to(ROOT / "docs") and target.suffix == ".md" and target.is_file()
        if is_page or not target.exists():  # what does not exist is left for Sphinx to report
            return link[0]
        path = str(target.relative_to(ROOT))
        return link["text"] if path in link["text"] else f"{link['text']} (`{path}`)"

    source[0] = re.sub(r"(?<!!)\[(?P<text>[^]]+)\]\((?!\w+:|#)(?P<file>[^)\s#]+)(?:#[^)\s]*)?\)", shown, source[0])


def setup(app: object) -> None:
    """Connect the reader of pages."""
    app.connect("source-read", link_outside)  # type: ignore[attr-defined]
