"""Every command answers --help and wrong options without any package, and old names say what they are now."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support import commands, synthetic
from tlsmem.base.errors import UserError
from tlsmem.base.paths import ROOT
from tlsmem.cli.command import Command
from tlsmem.cli.dispatch import run_words
from tlsmem.cli.registry import GROUPS, OLD_SCRIPTS, all_commands

TOOLS = ROOT / "tools"
COMMANDS = [command for command in all_commands() if command.run]
KEPT = ("inspect_heaptrack", "plot_mem")  # scripts that are commands by another name
DEVELOPERS = sorted(file.name for file in TOOLS.glob("dev/*.py") if os.access(file, os.X_OK))
EACH = """
import contextlib, io, json, sys
sys.path.insert(0, sys.argv[1])
from tlsmem.base.errors import UserError
from tlsmem.cli.dispatch import run_words
from tlsmem.cli.registry import all_commands
said = {}
for command in all_commands():
    for word in ("--help", "--no-such-option") if command.run else ():
        try:
            with contextlib.redirect_stdout(io.StringIO()):
                status = run_words([*command.words.split(), word])
        except SystemExit as end:
            status = end.code
        except UserError as error:
            status = error.status
        said[f"{command.words} {word}"] = status
print(json.dumps(said))
"""


def keep_quick(names, *quick):
    """Parameters of a test that starts a process for each; `make check-thorough` has those that are not `quick`."""
    return [pytest.param(name, marks=[] if name in quick else pytest.mark.thorough) for name in names]


def name_command(command: Command) -> str:
    return command.words.replace(" ", "-")


@pytest.fixture(scope="module")
def clone(tmp_path_factory) -> Path:
    """A clone without .venv."""
    folder = tmp_path_factory.mktemp("clone")
    unwanted = shutil.ignore_patterns("tests", "browser-tests", "__pycache__", "node_modules")
    shutil.copytree(TOOLS, folder / "tools", ignore=unwanted)
    (folder / "memtest").mkdir()
    for file in (ROOT / "memtest").glob("*.toml"):
        shutil.copy(file, folder / "memtest")
    return folder


@pytest.fixture
def run_alone(clone):
    """Runs a program of a clone without .venv, by a Python that finds no package: run_alone(program, argument, ...)."""

    def by_python_alone(program, *arguments):
        command = [sys.executable, "-S", clone / "tools" / program, *arguments]
        return subprocess.run(command, cwd="/", capture_output=True, text=True, check=False)

    return by_python_alone


@pytest.mark.thorough
def test_every_command_answers_help_and_a_wrong_option_without_a_package(clone):
    words = [sys.executable, "-S", "-c", EACH, clone / "tools"]
    done = subprocess.run(words, cwd="/", capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    known = {"--help": 0, "--no-such-option": 2}
    wanted = {f"{command.words} {word}": status for command in COMMANDS for word, status in known.items()}
    assert json.loads(done.stdout) == wanted


@pytest.mark.parametrize("group", keep_quick(["", *GROUPS], "", "heap", "diff"))
def test_help_of_a_first_word_needs_no_package(run_alone, group, monkeypatch):
    """Also where Python takes no module from the directory of the program."""
    monkeypatch.setenv("PYTHONSAFEPATH", "1")
    done = run_alone("tls-memtest", *group.split(), "--help")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith(f"usage: tls-memtest {group}")


@pytest.mark.parametrize("command", COMMANDS, ids=name_command)
def test_help_begins_with_the_command_and_shows_it_at_work(command, capsys):
    try:
        status = run_words([*command.words.split(), "--help"])
    except SystemExit as end:
        status = end.code
    shown = capsys.readouterr().out
    assert status == 0
    assert " ".join(shown.split()).startswith(f"usage: tls-memtest {command.words}")
    _, _, examples = shown.partition("\nexamples:\n")
    assert f"tools/tls-memtest {command.words.split()[0]}" in examples or command.words == "help --words"


@pytest.mark.parametrize("command", COMMANDS, ids=name_command)
def test_an_option_that_is_not_there_is_one_sentence(command):
    with pytest.raises(UserError) as stop:
        run_words([*command.words.split(), "--no-such-option"])
    sentence = str(stop.value)
    assert stop.value.status == 2 and sentence.startswith(f"tls-memtest {command.words}: ") and "\n" not in sentence


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("build nosuch@1", "memtest/stacks.toml has no stack nosuch@1"),
        ("build --campaign=mme", "did you mean mem?"),
        ("diff recordings a b --by stakc x y", "did you mean stack?"),
        ("diff builds --a=null@c", "--b"),
        ("diff releases --library=opnssl", "did you mean openssl"),
        ("heap read profile --flamegraph=x.png", "a flamegraph file must end in .svg"),
        ("measure kernel --pairs=0", "--pairs: 0 is no whole number from 1 to 100000"),
        ("stacks --stacks=opnssl@3.5.5", "did you mean openssl@3.5.5"),
        ("measure mem --suites=nosuch", "no suite nosuch"),
        ("plan memory --connections=0", "at least 1"),
        ("heap record --tool=nosuch", "--tool=nosuch must be"),
        ("show tables data --table=nosuch", "--table=nosuch must be settings, "),
    ],
)
def test_a_wrong_argument_is_told_before_any_package_is_needed(words, said):
    """What runs up to here runs without packages, as the process above shows."""
    given = words.split()
    command = max((one for one in COMMANDS if words.startswith(one.words)), key=lambda one: len(one.words))
    with pytest.raises(UserError) as stop:
        commands.parse(command.words, *given[len(command.words.split()) :], checked=True)
    assert stop.value.status == 2 and said in str(stop.value)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("tabulate data", "tools/tabulate.py is now `tools/tls-memtest show tables`"),
        ("tools/tabulate.py data", "tools/tabulate.py is now `tools/tls-memtest show tables`"),
        ("tables data", "there is no command tables; did you mean show tables?"),
        ("mesure mem", "there is no command mesure; did you mean measure"),
        ("show tabels data", "there is no command show tabels; did you mean tables"),
        ("show", "show: name what: tables, "),
        ("plan --connections 5", "plan: name what: memory, "),
        ("zzzz", "there is no command zzzz; there are: cost, why, "),
        ("--versoin", "--versoin comes after a command; there are: cost, why, "),
        ("-- cost", "-- comes after a command; there are: cost, why, "),
        ("./tools/cost.py", "tools/cost.py is now `tools/tls-memtest cost`"),
        ("help plan memory x", "`help plan memory` takes no further word; leave x out"),
        ("help make mem x", "`help make mem` takes no further word; leave x out"),
        (
            "help build --check mem",
            "help takes a command, and --check is an option; `tls-memtest build --check --help`",
        ),
        (
            "help cost --pq",
            "help takes a command, and --pq is an option; `tls-memtest cost --help` shows what there is",
        ),
        ("help heap --json=1", "help takes a command, and --json is an option; `tls-memtest heap --help` shows"),
        ("help make mem -x", "help takes a command, and -x is an option; `tls-memtest help make mem` shows"),
        ("help biuld --check", "there is no command biuld; did you mean build or builds?"),
        ("help --refrence", "tls-memtest help: unrecognized arguments: --refrence; did you mean --reference?"),
    ],
)
def test_a_command_that_is_not_there_gets_the_nearest(words, said):
    with pytest.raises(UserError) as stop:
        run_words(words.split())
    assert stop.value.status == 2 and str(stop.value).startswith(said)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("cost --connections 5", "tls-memtest cost: unrecognized arguments: --connections; it is an option of plan "),
        ("show tables data --bisect", "; it is an option of diff builds"),
        ("show tables data --suit none", "; did you mean --suite"),
    ],
)
def test_an_option_of_another_command_names_its_owner(words, said):
    with pytest.raises(UserError) as stop:
        run_words(words.split())
    sentence = str(stop.value)
    assert stop.value.status == 2 and said in sentence and ("did you mean" in sentence) is ("did you mean" in said)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["cost", "--role"], "tls-memtest cost: --role needs a value"),
        (["cost", "--mtls=1"], "tls-memtest cost: --mtls takes no value; leave '1' out"),
        (["show", "tables", "x", "--suite", ""], "--suite is empty; give it a value, or leave it out"),
        (["cost", "--suite", "tls14"], "--suite: memtest/suites.toml has no suite tls14"),
        (["plan", "memory", "--connections=1", "--suite=tls14"], "--suite: memtest/suites.toml has no suite tls14"),
        (["stacks", "--details", "--sources"], "tls-memtest stacks: --sources and --details exclude each other"),
        (["help", "--reference", "--into", "/no.md"], "--into /no.md: there is no such file; name a page of Markdown"),
        (["cost", "-o", ""], "--output: the path is empty; give one, or leave the option out"),
        (["gate", " "], "BUDGET.toml: the path is empty; give one, or leave the option out"),
        (["cost", "N=10"], "tls-memtest cost does not take N=10; `tls-memtest cost --help` lists what it takes"),
        (["measure", "mem", "n=10"], "n=10: options of make are in capitals: N="),
        (["heap", "run", "true", "x"], "tls-memtest heap run: put -- before the command: -- true x"),
        (["heap", "attach", "x"], "PID: 'x' is not a whole number"),
        (["measure", "mem", "--", "x"], "tls-memtest measure mem: unrecognized arguments: -- x; `tls-memtest measure"),
        (["gate", "x", "--list", "--out", "y"], "tls-memtest gate: --out and --list exclude each other"),
        (["diff", "recordings", "x", "--by", "stack"], "tls-memtest diff recordings: --by needs 3 values"),
        (["help", "completion"], "tls-memtest help completion: shell is missing: bash, zsh or fish"),
        (["diff", "builds", "--a=null@c"], "tls-memtest diff builds: --b is missing: the new build, "),
        (["diff", "builds", "A=null@c"], "B is missing: the new build, in the same form as A; for instance B=openssl@"),
        (["build", "--check", "compare", "A=null@c"], "B is missing: the new build, in the same form as A; for "),
        (["build", "--check", "compare-versions"], "LIB is missing: "),
        (["build", "--check", "live"], "SERVER is missing: the servers to measure; for instance SERVER=nginx; or "),
    ],
)
def test_what_is_wrong_is_named_as_it_was_typed_with_the_way_out(words, said):
    with pytest.raises(UserError) as stop:
        run_words(words)
    assert stop.value.status == 2 and str(stop.value).startswith(said) and "\n" not in str(stop.value)


def test_of_a_very_long_word_the_sentence_has_its_ends(run_alone):
    done = run_alone("tls-memtest", "cost", "--role", "x" * 100_000)
    assert done.returncode == 2 and len(done.stderr) < 5000
    assert done.stderr.startswith("memtest: --role=xxx")
    assert done.stderr.endswith("xxx must be client or server\n")


def test_a_command_that_is_not_there_is_a_sentence_and_status_2_as_a_process(run_alone):
    done = run_alone("tls-memtest", "nosuch")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("memtest: there is no command nosuch") and done.stderr.count("\n") == 1


@pytest.mark.parametrize("name", keep_quick([name for name in OLD_SCRIPTS if name not in KEPT], "cost", "tabulate"))
def test_an_old_script_answers_with_the_command_that_it_is_now(run_alone, name):
    done = run_alone(f"{name}.py", "--help")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == f"memtest: tools/{name}.py is now `tools/tls-memtest {OLD_SCRIPTS[name]}`\n"


@pytest.mark.parametrize(("name", "words"), [("inspect_heaptrack", "heap read"), ("plot_mem", "show mem")])
def test_two_scripts_stay_and_are_commands(run_alone, name, words):
    done = run_alone(f"{name}.py", "--help")
    assert (done.returncode, done.stderr) == (0, "") and done.stdout.startswith(f"usage: tls-memtest {words} ")


@pytest.mark.thorough
def test_the_picture_of_a_recording_is_drawn_by_the_script_of_that_name(tmp_path):
    recording = synthetic.write(tmp_path / "recording", synthetic.campaign(["openssl@3.5.5"], ["tls13-rsa-aes256"]))
    words = [sys.executable, TOOLS / "plot_mem.py", recording, "-o", tmp_path / "mem.png"]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "mem.png").stat().st_size > 10_000


@pytest.mark.parametrize("script", keep_quick(DEVELOPERS, "checks.py", "house.py", "run_checks.py", "selfcheck.py"))
def test_a_script_of_developers_answers_without_a_package(run_alone, script):
    shown, refused = run_alone(f"dev/{script}", "--help"), run_alone(f"dev/{script}", "--no-such-option")
    assert (shown.returncode, shown.stderr) == (0, "") and shown.stdout.startswith(f"usage: {script}")
    assert (refused.returncode, refused.stdout) == (2, "")
    assert refused.stderr.splitlines()[-1].startswith((f"{script}: error: ", f"memtest: {script}: ", "memtest: "))


@pytest.mark.thorough
def test_the_schema_is_printed_from_outside_the_environment(tmp_path):
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", tmp_path / "bare"], check=True)
    command = [tmp_path / "bare/bin/python", TOOLS / "tls-memtest", "data", "schema"]
    done = subprocess.run(command, cwd="/", capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["title"] == "Record"


@pytest.mark.parametrize("flags", [["--n=7"], ["--repeats=0"], ["--stacks=nosuch"], ["--suites=nosuch"]])
def test_the_bench_checks_its_flags_first(run_alone, flags):
    done = run_alone("dev/bench_meter.py", *flags)
    assert done.returncode == 2 and done.stderr.startswith("memtest: ") and done.stderr.count("\n") == 1
