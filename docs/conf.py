"""How Sphinx makes the site of docs/: `make docs`."""

import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT / "tools"), str(ROOT / "docs")]

from docutils import nodes  # noqa: E402

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
templates_path = ["_templates"]
smartquotes = False  # it turns the -- of an option into a dash
html_theme = "furo"
html_static_path = ["_static"]
html_css_files = ["site.css"]
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


def link_pictures(app: object, doctree: nodes.document) -> None:
    """Make each picture a link to its file, as Sphinx does with scaled ones: on a phone its words are small."""
    for picture in doctree.findall(nodes.image):
        picture["width"] = "100%"


def wrap_commands(app: object, doctree: nodes.document) -> None:
    """Let long lines of code break that have no columns, such as commands: a phone shows forty signs of a line."""
    for block in doctree.findall(nodes.literal_block):
        if not re.search(r"\S {2,}[^ #]|^ ", block.astext(), re.MULTILINE):
            block["classes"].append("wraps")


def keep_words(app: object, page: str, template: str, context: dict[str, str], doctree: object) -> None:
    """Keep lines of commands from breaking at the hyphens of options and names."""

    def keep(block: re.Match[str]) -> str:
        return block["tag"] + re.sub(r"[^\s<>]*-[^\s<>]*", r'<span class="word">\g<0></span>', block["text"])

    plain = r'(?P<tag><div class="wraps highlight-(?:none|text)[^>]*>\s*<div[^>]*><pre><span></span>)(?P<text>[^<]*)'
    context["body"] = re.sub(plain, keep, context.get("body", ""))


def setup(app: object) -> None:
    """Connect the readers of pages."""
    app.connect("source-read", link_outside)  # type: ignore[attr-defined]
    app.connect("doctree-read", link_pictures)  # type: ignore[attr-defined]
    app.connect("doctree-read", wrap_commands)  # type: ignore[attr-defined]
    app.connect("html-page-context", keep_words)  # type: ignore[attr-defined]
