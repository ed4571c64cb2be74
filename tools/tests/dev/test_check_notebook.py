"""Notebooks run, and show the outputs that are committed: a changed figure, a cell that fails, and a path are found."""

import re
import sys

import nbformat
import pytest
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook

import check_notebook
from tlsmem.base.paths import ROOT

PICTURE = "import matplotlib.pyplot as plt\nplt.plot([1])\nplt.show()"


@pytest.fixture
def check(tmp_path, monkeypatch, capsys):
    """Return the exit status and the output of a check of a notebook with these cells."""
    file = tmp_path / "one.ipynb"

    def run(*words: str) -> tuple[int, str]:
        monkeypatch.setattr(sys, "argv", ["check_notebook.py", *words, str(file)])
        with pytest.raises(SystemExit) as ended:
            check_notebook.main()
        return ended.value.code, "".join(capsys.readouterr())

    def write(*sources: str):
        cells = [new_markdown_cell("Text."), *map(new_code_cell, sources)]
        nbformat.write(new_notebook(cells=cells), file)

    run.file, run.write = file, write
    return run


def test_outputs_that_were_written_are_those_of_the_next_run(check):
    check.write("print(1 + 1)", "import pandas\npandas.DataFrame({'bytes': [3753.0]})", PICTURE)
    status, said = check()
    assert status == 1 and "cell 2:\n+stdout: 2\n" in said
    assert check("--write") == check() == (0, "check-notebook: passed: 1 notebook\n")
    cells = nbformat.read(check.file, as_version=4).cells
    assert "3753.0" in cells[2].outputs[0].data["text/html"] and "image/png" in cells[3].outputs[-1].data
    assert [cell.get("execution_count") for cell in cells] == [None, 1, 2, 3]


@pytest.mark.parametrize(
    ("old", "new", "lines"),
    [
        ('"2\\n"', '"3\\n"', ["-stdout: 3", "+stdout: 2"]),
        ("<td>3753.0</td>", "<td>3754.0</td>", ["-text/html:       <td>3754.0</td>"]),
    ],
)
def test_a_figure_that_differs_from_the_committed_one_is_shown(check, old, new, lines):
    check.write("print(1 + 1)", "import pandas\npandas.DataFrame({'bytes': [3753.0]})")
    check("--write")
    content = check.file.read_text()
    assert content.count(old) == 1
    check.file.write_text(content.replace(old, new))
    status, said = check()
    assert status == 1 and "--write" in said
    assert all(line in said for line in lines)


def test_a_picture_that_is_missing_is_a_difference_and_another_one_is_none(check):
    check.write(PICTURE)
    check("--write")
    notebook = nbformat.read(check.file, as_version=4)
    picture = notebook.cells[1].outputs[-1].data
    picture["image/png"] = "AAAA"
    nbformat.write(notebook, check.file)
    assert check()[0] == 0
    del picture["image/png"]
    nbformat.write(notebook, check.file)
    status, said = check()
    assert status == 1 and "+image/png" in said


@pytest.mark.parametrize("words", [(), ("--write",)])
@pytest.mark.parametrize(
    ("source", "sentence"),
    [
        ("import tlsmem\ntlsmem.costs('opensl')", "a cell fails: .*did you mean openssl"),
        ("import os\nos._exit(1)", "a cell fails: .*died"),
        (f"print({str(ROOT)!r})", f"an output names {ROOT}"),
    ],
    ids=["raises", "ends", "path"],
)
def test_a_cell_that_fails_or_prints_a_path_of_this_machine_is_named_and_nothing_is_written(
    check, words, source, sentence
):
    check.write(source)
    before = check.file.read_text()
    status, said = check(*words)
    assert status == 1 and check.file.read_text() == before
    assert re.search(sentence, said, re.DOTALL)


def test_what_is_no_notebook_is_one_sentence(check):
    check.file.write_text("text")
    status, said = check()
    assert (status, said.count("\n")) == (1, 1) and "not a notebook that can be read" in said
