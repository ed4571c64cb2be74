"""A small tree has known numbers, and so has its commit. What cannot be counted is named in one sentence."""

import json
import subprocess

import pytest

import house

LONG = "VALUE = 1\n" * 70
TREE = {
    "Makefile": "all:\n\ttrue\n",
    "tools/one.py": "#!/usr/bin/env python3\n",
    "tools/command": "#!/usr/bin/env python3\n",
    "tools/shell": "#!/bin/sh\n",
    "tools/requirements.txt": "python==3\n",
    "tools/dev/other.py": "from tlsmem.base import lone\n",  # a script imports, and does not count
    "tools/tests/test_one.py": "from tlsmem.base import lone\n\n",
    "tools/tests/no_test.txt": "\n",
    "memtest/tests/test_two.py": "\n",
    "tools/tlsmem/__init__.py": "",
    "tools/tlsmem/base/__init__.py": "",
    "tools/tlsmem/base/lone.py": LONG,
    "tools/tlsmem/base/errors.py": "class Bad(SystemExit):\n    pass\n\n\nclass Worse(Bad):\n    pass\n",
    "tools/tlsmem/config/__init__.py": "from .options import text\n",
    "tools/tlsmem/config/options.py": "def text():\n    return 1\n",
    "tools/tlsmem/config/option_kinds.py": "import tlsmem.config.options\nasync def a():\n  def b():\n    0\n\n",
    "tools/tlsmem/config/arguments_of_one.py": "\n\n\n",
    "tools/tlsmem/config/optional.py": "from tlsmem import config\n",
    "tools/tlsmem/cli/__init__.py": "",
    "tools/tlsmem/cli/options.py": "import tlsmem.cli.options\n",
    "tools/tlsmem/cli/main.py": "import sys\n\nfrom tlsmem.base import lone\n\nsys.exit(lone)\n",
    "tools/tlsmem/cli/stop.py": "import sys\nfrom ..base.errors import Bad, Worse\nBad()\nsys.exit()\nraise Worse\n",
    "tools/tlsmem/live/stalled_peers.py": "raise ValueError\n",
    "tools/tlsmem/stats/live_heap.py": "",
    "tools/tlsmem/stats/alive.py": "",
}
KNOWN = {
    "modules": 12,
    "modules_with_init": 16,
    "lines": 70 + 6 + 1 + 2 + 5 + 3 + 1 + 1 + 5 + 5 + 1,
    "median_module": 2.5,  # 0 0 1 1 1 2 3 5 5 5 6 70
    "functions": 3,
    "median_function": 2,  # 2 3 2
    "short_modules": 11,
    "one_importer": 2,  # lone by main, errors by stop; options has two, config is no module
    "files_that_exit": 1,
    "exits": 3,
    "declaration_lines": 3 + 1,
    "option_lines": 2 + 5 + 3 + 1 + 1,
    "makefile_lines": 2,
    "scripts": 2,
    "test_lines": 3,
    **{f"topic_{topic}": 0 for topic in house.TOPICS},
    "topic_live": 1,
    "topic_stall": 1,
}


@pytest.fixture
def clone(tmp_path, monkeypatch):
    """A checkout with TREE, committed."""
    for name, text in TREE.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    (tmp_path / "tools/link.py").symlink_to("one.py")
    commit(tmp_path)
    monkeypatch.setattr(house, "ROOT", tmp_path)
    return tmp_path


def commit(folder):
    author = ["-c", "user.name=a", "-c", "user.email=a@example.com", "-c", "commit.gpgsign=false"]
    for words in (["init", "-q"], ["add", "."], [*author, "commit", "-qm", "all"]):
        subprocess.run(["git", "-C", str(folder), *words], check=True)


def test_each_number_of_a_tree_is_known(clone):
    assert house.count(house.read_folder(clone)).numbers == KNOWN
    assert set(KNOWN) == set(house.ROWS)


def test_a_revision_is_counted_beside_what_has_changed_since(clone, capsys):
    (clone / "tools/tlsmem/cli/stop.py").unlink()
    house.main(["--against", "HEAD", "--format", "json"])
    columns = json.loads(capsys.readouterr().out)
    assert columns["HEAD"] == KNOWN
    assert columns["now"] == KNOWN | {
        "modules": 11,
        "modules_with_init": 15,
        "lines": KNOWN["lines"] - 5,
        "median_module": 2,
        "short_modules": 10,
        "one_importer": 1,
        "files_that_exit": 0,
        "exits": 0,
    }
    house.main(["--against", "HEAD"])
    rows = [line.split("  ") for line in capsys.readouterr().out.splitlines()]
    cells = {line[0]: [cell.strip() for cell in line[1:] if cell.strip()] for line in rows}
    assert cells["exits"] == ["3", "0", "-3"] and cells["scripts"] == ["2", "2", "+0"]


def test_the_files_behind_a_number(clone, capsys):
    house.main(["--list", "one-importer"])
    assert capsys.readouterr().out.splitlines() == [
        "tools/tlsmem/base/errors.py  imported by tools/tlsmem/cli/stop.py",
        "tools/tlsmem/base/lone.py  imported by tools/tlsmem/cli/main.py",
    ]
    house.main(["--list", "exits"])
    assert capsys.readouterr().out == "tools/tlsmem/cli/stop.py  3\n"
    house.main(["--list", "topics"])
    assert capsys.readouterr().out.splitlines() == [
        "tools/tlsmem/live/stalled_peers.py  live",
        "tools/tlsmem/live/stalled_peers.py  stall",
    ]


def test_in_brief_it_is_one_line(clone, capsys):
    house.main(["--brief"])
    line = capsys.readouterr().out
    assert line.count("\n") == 1
    assert line.startswith(
        "house: 12 modules of 2.5 lines in the median, 11 below 60 lines, 2 with one importer; 1 file"
    )


@pytest.mark.parametrize("revision", ["nosuch", "", "--all"])
def test_an_unknown_revision_is_one_sentence(clone, revision):
    with pytest.raises(SystemExit) as ended:
        house.main([f"--against={revision}"])
    assert ended.value.code.startswith(f"house: --against {revision}: git knows no such revision here; ")


def test_a_revision_without_the_package_is_one_sentence(clone, monkeypatch, tmp_path_factory):
    folder = tmp_path_factory.mktemp("other")
    (folder / "README").touch()
    commit(folder)
    with pytest.raises(house.NotCounted, match="that revision has no tools/tlsmem/; name a later one"):
        house.read_revision(folder, "HEAD")
    with pytest.raises(house.NotCounted, match="has no tools/tlsmem/: name a checkout of this repository"):
        house.read_folder(folder)


def test_a_file_that_is_no_python_is_named(clone):
    (clone / "tools/tlsmem/base/lone.py").write_text("VALUE = 1\nVALUE = = 2\n")
    with pytest.raises(SystemExit) as ended:
        house.main([])
    assert ended.value.code == "house: tools/tlsmem/base/lone.py: line 2: invalid syntax; mend it first"


def test_a_list_is_of_one_tree(clone, capsys):
    with pytest.raises(SystemExit) as ended:
        house.main(["--against=HEAD", "--list=exits"])
    assert ended.value.code == 2 and "--brief and --list show one" in capsys.readouterr().err
