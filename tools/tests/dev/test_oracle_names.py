"""Commands under their old and new names: both ways, in what is printed, and in dumps of a tree of each kind."""

import base64
import json
import shutil
import sys
import zlib

import pytest
from matplotlib.figure import Figure

import oracle
import oracle_commands
import oracle_names
import oracle_pictures
from oracle_names import COMMAND, NEW_WORDS, SCRIPTS
from tlsmem.base.paths import ROOT
from tlsmem.config.table_names import TABLES

TO_PAGE = bytes.maketrans(b"&<>", b",.:")  # signs of base 85 that a page has others for


@pytest.mark.parametrize(
    "old, new",
    [
        *NEW_WORDS.items(),
        ("heap 4711 --once", "heap attach 4711 --once"),
        ("heap --growth -- nginx -c x.conf", "heap run --growth -- nginx -c x.conf"),
        ("measure mem --list", "measure mem --list"),
        ("records seal data/local/x", "data seal data/local/x"),
        ("records verify data/x", "data verify data/x"),
        ("query docs/reference/records.md", "data sql --into docs/reference/records.md"),
        ("packages mem", "build --packages mem"),
        ("gate BUDGET.toml --out runs", "gate BUDGET.toml --out runs"),
        ("cost -o picture", "cost -o picture"),
        ("plot_timing data/x --out picture", "show timing data/x -o picture"),
    ],
)
def test_names_are_translated_both_ways(old, new):
    script, *arguments = old.split()
    assert oracle_names.translate_to_new([f"tools/{script}.py", *arguments]) == [COMMAND, *new.split()]
    assert oracle_names.translate_to_new([COMMAND, *new.split()]) == [COMMAND, *new.split()]
    assert oracle_names.translate_to_old([COMMAND, *new.split()]) == [f"tools/{script}.py", *arguments]


def test_every_script_has_a_new_name():
    assert {file.stem for file in (ROOT / "tools").glob("*.py")} <= {*SCRIPTS, "moved"}


def test_scripts_of_developers_keep_their_names():
    argv = ["tools/dev/prove.py", "data/x"]
    assert oracle_names.translate_to_new(argv) == oracle_names.translate_to_old(argv) == argv


def test_a_command_that_no_script_did_is_a_sentence():
    with pytest.raises(ValueError, match="no script did what `tools/tls-memtest export x` does"):
        oracle_names.translate_to_old([COMMAND, "export", "x"])


def test_every_table_is_asked_for():
    assert set(oracle_commands.EVERY_TABLE) == set(TABLES)


@pytest.mark.parametrize("program", ["tools/cost.py", "tools/tls-memtest cost", "tls-memtest cost"])
def test_pages_may_have_commands_in_either_form(monkeypatch, tmp_path, program):
    (tmp_path / "docs").mkdir()
    page = f"<!-- begin: {program} rustls -->\n\nReproduce this figure: `{program} -o docs/figures/x`\n"
    (tmp_path / "README.md").write_text(page)
    monkeypatch.setattr(oracle_commands, "ROOT", tmp_path)
    words = ["rustls", "rustls --format json", "-o {TMP}/x"]
    assert list(oracle_commands.official()) == [[COMMAND, "cost", *some.split()] for some in words]


@pytest.mark.parametrize(
    "old, new",
    [
        ("run tools/tabulate.py data/x --table heap", "run tools/tls-memtest show tables data/x --table heap"),
        ("run `tools/tabulate.py data/x`", "run `tls-memtest show tables data/x`"),
        (
            "usage: cost.py [-h] [STACK ...]\n         [--role R]",
            "usage: tls-memtest cost [-h]\n  [STACK ...] [--role R]",
        ),
        ("cost.py: error: no such suite", "tls-memtest cost: error: no such suite"),
        ("run tools/measure.py mem --suites\ntls13-rsa.", "run tls-\nmemtest measure mem --suites tls13-\nrsa."),
        ("| why |\n|-----|\n| cost.py |", "| why              |\n|------------------|\n| tls-memtest cost |"),
        ("tools/records.py --schema", "tls-memtest data schema"),
        ("tools/heap.py --once -- nginx", "tls-memtest heap run --once -- nginx"),
    ],
)
def test_a_new_name_alone_is_no_difference(old, new):
    assert oracle_names.rename_prose(old) == oracle_names.rename_prose(new)
    assert oracle_names.rename_prose(old) != oracle_names.rename_prose(f"{new} again")


def test_paragraphs_without_a_command_stay_as_they_are():
    text = "One line\nand  another.\n\n    a table\n"
    assert oracle_names.rename_prose(text) == text


PROGRAM = """
import sys
assert sys.argv[1:] == {arguments}, sys.argv
table = dict(name="cost", notes=["again: {own} rustls"], rows=[dict(made_by="{own} rustls", bytes={size})])
print(__import__("json").dumps(dict(tables=[table])))
print("{own}: {warning}", file=sys.stderr)
"""


@pytest.fixture
def dumped(monkeypatch, tmp_path):
    """dumped(NAME, PATH, ARGUMENTS, ...): the dump of a tree that has one program, named PATH."""

    def dump(name, path, arguments, size=41_234, warning="one run failed"):
        tree, where = tmp_path / f"tree-{name}", tmp_path / name
        (tree / "tools").mkdir(parents=True)
        own = path.replace("tls-memtest", "tls-memtest cost")
        (tree / path).write_text(PROGRAM.format(own=own, arguments=arguments, size=size, warning=warning))
        monkeypatch.setattr(oracle, "ROOT", tree)
        monkeypatch.setattr(oracle, "PYTHON", sys.executable)
        monkeypatch.setattr(oracle, "commands", lambda: [[COMMAND, "cost", "rustls", "--format", "json"]])
        oracle.dump(where, 1, "", None, False)
        return where

    return dump


def test_dumps_of_scripts_and_of_the_command_are_comparable(dumped, capsys):
    before = dumped("before", "tools/cost.py", ["rustls", "--format", "json"])
    after = dumped("after", "tools/tls-memtest", ["cost", "rustls", "--format", "json"])
    assert oracle.compare(before, after, 9) == 0
    all_equal = "0 of 1 outputs differ in values, 0 in words; 0 are missing, 0 end otherwise, 0 are new"
    assert all_equal in capsys.readouterr().out


@pytest.mark.parametrize(
    "change, status, said",
    [({"size": 41_235}, 3, "1 of 1 outputs differ in values"), ({"warning": "two runs failed"}, 0, "1 in words")],
)
def test_what_differs_beside_the_name_is_shown(dumped, capsys, change, status, said):
    before = dumped("before", "tools/cost.py", ["rustls", "--format", "json"])
    after = dumped("after", "tools/tls-memtest", ["cost", "rustls", "--format", "json"], **change)
    assert oracle.compare(before, after, 9) == status
    assert said in capsys.readouterr().out


def test_a_quick_dump_has_one_command_of_each_kind():
    cost, plan = [COMMAND, "cost", "--suite"], [COMMAND, "plan", "memory", "--stack"]
    kinds = [
        [*cost, "tls12-rsa-aes256", "a@1"],
        [*cost, "tls13-rsa-aes256", "a@1"],
        [*cost, "none", "a@1"],
        [*plan, "a@1"],
    ]
    same = [[*cost, "tls13-rsa-aes128", "a@1", "b@1"], [*cost, "tls12-rsa-aes256", "a@2"], [*plan, "b@1"]]
    assert oracle_commands.once_each([*kinds, *same]) == kinds


def test_a_quick_dump_is_compared_with_a_whole_one():
    whole = {name: {"argv": [COMMAND, "plan", "memory", "--stack", name]} for name in ("a@1", "b@1")}
    quick = {"only": "", "quick": True, "outputs": {"a@1": whole["a@1"]}}
    whole = {"only": "", "quick": False, "outputs": whole}
    assert list(oracle.asked_of_both(whole, quick)) == list(oracle.asked_of_both(quick, whole)) == ["a@1"]


def test_commands_of_a_dump_are_translated(dumped):
    before = dumped("before", "tools/cost.py", ["rustls", "--format", "json"])
    manifest = json.loads((before / "manifest.json").read_text())
    ((_, output),) = manifest["outputs"].items()
    older = {"cost_rustls_--format_json": output | {"argv": ["tools/cost.py", *output["argv"][2:]]}}
    (before / "manifest.json").write_text(json.dumps(manifest | {"outputs": older}))
    assert oracle.commands_like(before) == [[COMMAND, "cost", "rustls", "--format", "json"]]
    shutil.copytree(before, before.with_name("copy"))
    with pytest.raises(ValueError, match="an older oracle made this dump"):
        oracle.compare(before, before.with_name("copy"), 9)


def test_a_chooser_is_figures_and_sentences():
    row = {"stack": "a@1", "suite": "s", "role": "server", "state": None, "advice": ["run x", None]}
    row |= {"use": {"rss": {"text": "55,072 B", "bytes": 55071.8}, "parts": [["record buffers, read", 16716.0]]}}
    values, words = oracle.split_chooser(json.dumps({"rows": [row], "opens": "a@1"}))
    assert "a@1 s server None: use.rss.bytes = 55071.8" in values
    assert "a@1 s server None: use.parts.0 record buffers, read = 16716.0" in values
    assert words.splitlines() == ["a@1 s server None: advice.0 = run x", "a@1 s server None: use.rss.text = 55,072 B"]


@pytest.mark.parametrize("encode", [base64.b64encode, lambda data: base64.b85encode(data).translate(TO_PAGE)])
@pytest.mark.parametrize(
    "data", ['["@1", ["a", "a"], "tls-memtest cost"]', '{"parts":["@1","b",["a","a"]],"value":PARTS}']
)
def test_data_of_a_page_are_read_however_they_are_packed(encode, data):
    packed = encode(zlib.compress(data.replace("PARTS", '["@@1","@2","tools/cost.py"]').encode(), 9)).decode()
    page = f'<p>text</p><script type="text/plain" id="packed-x">{packed}</script>'
    values, _ = oracle.split_text(page, "html")
    assert json.loads("".join(values["packed-x"])) == ["@1", ["a", "a"], "tls-memtest cost"]


DRAWS = """
import sys
from matplotlib import pyplot, rc_context
pyplot.plot([1, 2], [3, 4.5])
pyplot.savefig(sys.argv[1])
with rc_context({"svg.fonttype": "none"}):
    pyplot.savefig(sys.argv[1] + "-of-a-page.svg")
"""


def test_a_picture_of_a_page_is_not_kept_as_it_may_come_from_a_cache(monkeypatch, tmp_path):
    monkeypatch.setattr(Figure, "savefig", Figure.savefig)  # it is replaced until the end of the test
    monkeypatch.setattr(sys, "argv", sys.argv)
    monkeypatch.setattr(sys, "path", [*sys.path])
    (tmp_path / "x").mkdir()
    (tmp_path / "draws.py").write_text(DRAWS)
    oracle_pictures.draw(tmp_path / "x.drawn.json", str(tmp_path / "draws.py"), [str(tmp_path / "x/picture.svg")])
    ((name, drawn),) = json.loads((tmp_path / "x.drawn.json").read_text()).items()
    assert name == "picture" and "4.5" in json.dumps(drawn["values"])
