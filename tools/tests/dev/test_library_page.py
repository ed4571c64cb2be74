"""The examples of docs/how-to/library.md print what the page shows below them."""

import contextlib
import io
import re

import pytest

from tlsmem.base.paths import ROOT

PAGE = ROOT / "docs/how-to/library.md"
EXAMPLE = re.compile(r"```python\n(.*?)```\n(?:\n```text\n(.*?)```)?", re.DOTALL)


@pytest.mark.thorough
def test_examples_print_what_the_page_shows_below_them(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)  # names below data/ are found from anywhere
    names: dict[str, object] = {}
    examples = EXAMPLE.findall(PAGE.read_text())
    assert len(examples) > 4
    for source, shown in examples:
        with contextlib.redirect_stdout(io.StringIO()) as printed:
            exec(source, names)
        assert printed.getvalue() == shown
