"""The one way out: what a command raises or returns is what its user reads, and its exit status."""

import os
import signal
import subprocess
import sys
import tomllib
from importlib.metadata import EntryPoint

import pytest

from tests.support.live import live_record
from tlsmem import cli
from tlsmem.base import repository, termination
from tlsmem.base.errors import Usage, UserError, raise_user_errors
from tlsmem.base.paths import ROOT
from tlsmem.cli import configuration_campaign, dispatch, live_campaign, registry
from tlsmem.cli.main import NO_MEMORY, main, run
from tlsmem.schema.live_records import append_live


def raising(error):
    """A command that ends with this error."""

    def main(*_):
        raise error

    return main


@pytest.mark.parametrize(
    ("main", "status", "said"),
    [
        (lambda: None, None, ""),
        (lambda: 3, 3, ""),
        (raising(UserError("no such file")), 1, "memtest: no such file\n"),
        (raising(UserError("no such suite", status=77)), 77, "memtest: no such suite\n"),
        (raising(Usage("N=x is no number")), 2, "memtest: N=x is no number\n"),
        (raising(UserError(status=2)), 2, ""),
        (raising(MemoryError()), 1, f"memtest: {NO_MEMORY}\n"),
        (raising(UserError("\x1b[2Jtwo\nlines")), 1, "memtest: ?[2Jtwo?lines\n"),
    ],
    ids=["nothing", "status", "sentence", "both", "usage", "silent", "memory", "escapes"],
)
def test_a_command_ends_with_its_status_and_one_sentence(main, status, said, capsys):
    with pytest.raises(SystemExit) as end:
        run(main)
    assert end.value.code == status
    assert capsys.readouterr() == ("", said)


def test_a_fault_of_the_program_keeps_its_traceback():
    with pytest.raises(ZeroDivisionError):
        run(lambda: 1 // 0)


@pytest.mark.parametrize(
    "words",
    ["--help", "help completion bash", "data schema", pytest.param("cost openssl@3.5.5", marks=pytest.mark.thorough)],
)
def test_a_reader_that_has_seen_enough_ends_any_command_without_a_word(words):
    command = [sys.executable, ROOT / "tools/tls-memtest", *words.split()]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as running:
        running.stdout.close()
        assert running.stderr.read() == ""
    assert running.returncode in (0, -signal.SIGPIPE)  # 0: nothing was said


def test_a_signal_to_end_is_no_error_on_the_way_out(monkeypatch, capsys):
    monkeypatch.setattr(termination, "SIGNALS", [signal.SIGUSR1])
    before = signal.getsignal(signal.SIGUSR1)

    def main():
        termination.end_on_signals()
        try:
            os.kill(os.getpid(), signal.SIGUSR1)
        except Exception:
            return 0

    try:
        with pytest.raises(SystemExit) as end:
            run(main)
    finally:
        signal.signal(signal.SIGUSR1, before)
    assert end.value.code == 128 + signal.SIGUSR1
    assert capsys.readouterr().err == ""


def test_what_an_import_raises_is_an_error_of_the_command(tmp_path, monkeypatch, capsys):
    (tmp_path / "a_verb.py").write_text("from tlsmem.base.errors import UserError\nraise UserError('too old')\n")
    monkeypatch.setattr(cli, "__path__", [*cli.__path__, str(tmp_path)])
    monkeypatch.setitem(registry.GROUPS, "a_verb", "what it does")
    monkeypatch.setattr(sys, "argv", ["tls-memtest"])
    with pytest.raises(SystemExit):
        main("a_verb")
    assert capsys.readouterr().err == "memtest: too old\n"


@pytest.mark.parametrize(
    ("error", "sentence", "status"),
    [
        (ValueError("no runs"), "no runs", 1),
        (FileNotFoundError(2, "No such file", "budget.toml"), "budget.toml: No such file", 1),
        (OSError(28, "No space left"), "here: No space left", 1),
        (Usage("no such table"), "no such table", 2),
    ],
)
def test_errors_of_values_and_files_become_sentences(error, sentence, status):
    with pytest.raises(UserError) as raised, raise_user_errors("here"):
        raise error
    assert (str(raised.value), raised.value.status) == (sentence, status)


@pytest.fixture
def run_installed(tmp_path):
    """Runs the command as pip installs it, from a package outside the clone: run_installed(directory, word, ...)."""
    package = tmp_path / "lib/python3/site-packages"
    package.mkdir(parents=True)
    (package / "tlsmem").symlink_to(ROOT / "tools/tlsmem")
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    entry = EntryPoint("tls-memtest", project["scripts"]["tls-memtest"], "console_scripts")
    assert callable(entry.load())
    call = f"import sys; sys.path[0] = {str(package)!r}; from {entry.module} import {entry.attr}; {entry.attr}()"

    def run_there(directory, *words):
        command = [sys.executable, "-c", call, *words]
        return subprocess.run(command, cwd=directory, capture_output=True, text=True, check=False)

    return run_there


def test_the_installed_command_is_that_of_the_clone_around_it(run_installed, tmp_path):
    clone = tmp_path / "clone"
    (clone / "tools").mkdir(parents=True)
    (clone / "docs").mkdir()
    (clone / "tools/tls-memtest").write_text("import sys; print(sys.argv); sys.exit(3)")
    for directory in (clone, clone / "docs"):
        done = run_installed(directory, "cost", "a b")
        assert (done.returncode, done.stderr) == (3, "")
        assert done.stdout == f"{[str(clone / 'tools/tls-memtest'), 'cost', 'a b']}\n"


def test_outside_a_clone_the_installed_command_is_a_sentence_with_the_way_out(run_installed, tmp_path):
    done = run_installed(tmp_path, "--help")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("memtest: there is no clone of tls-memtest here") and done.stderr.count("\n") == 1
    assert "change into one" in done.stderr and "pip install --no-deps -e CLONE" in done.stderr


@pytest.mark.parametrize(
    "words", ["build openssl@3.5.5", "measure mem", "gate BUDGET.toml", "diff builds", "diff releases", "heap record"]
)
def test_what_runs_harnesses_needs_a_clone_before_its_options_are_looked_at(words, monkeypatch):
    monkeypatch.setattr(repository, "IS_WHEEL", True)
    with pytest.raises(UserError, match="needs a clone of the repository") as refused:
        dispatch.run_words([*words.split(), "--no-such-option"])
    assert refused.value.status == 2


@pytest.mark.parametrize("words", ["measure live --server nginx", "measure configuration --server nginx"])
def test_new_runs_of_servers_need_a_clone(words, monkeypatch):
    monkeypatch.setattr(repository, "IS_WHEEL", True)
    for campaign in (live_campaign, configuration_campaign):
        monkeypatch.setattr(campaign, "run", raising(AssertionError("a server would have been started")))
    with pytest.raises(UserError, match="without a RECORDING: needs a clone of the repository") as refused:
        dispatch.run_words(words.split())
    assert refused.value.status == 2


def test_recorded_runs_of_servers_are_shown_without_a_clone(monkeypatch, tmp_path, capsys):
    monkeypatch.setattr(repository, "IS_WHEEL", True)
    for count in (1000, 3000):
        for meter in ("rss", "heap"):
            append_live(tmp_path, live_record(count, meter, malloc=True))
    dispatch.run_words(["measure", "live", str(tmp_path), "--format", "csv"])
    _, table = capsys.readouterr().out.split("# live-rss\n")
    assert table.splitlines()[1].startswith("nginx,TLSv1.3,all,established,14148.0,300.0,48.0,190.0,10.0,60.0,14660.0")


def test_a_package_that_is_not_beside_a_wheel_is_a_sentence(monkeypatch, capsys):
    monkeypatch.setattr(cli.main, "IS_WHEEL", True)
    with pytest.raises(SystemExit) as ended:
        run(raising(ModuleNotFoundError("No module named 'duckdb'", name="duckdb")))
    assert ended.value.code == 2
    assert capsys.readouterr().err == "memtest: this needs the Python package duckdb: pip install 'tls-memtest[data]'\n"


def test_another_system_than_linux_is_a_sentence(monkeypatch, capsys):
    monkeypatch.setattr(sys, "platform", "darwin")
    with pytest.raises(SystemExit) as ended:
        cli.main.main("cost")
    assert ended.value.code == 2
    error = capsys.readouterr().err
    assert error == "memtest: this runs on Linux only, and here is darwin: use a Linux machine or a container\n"


@pytest.mark.parametrize("name", ["tlsmem.nothing", "rich", None])
def test_another_module_that_is_missing_is_a_fault_of_the_package(name, monkeypatch):
    monkeypatch.setattr(cli.main, "IS_WHEEL", True)
    with pytest.raises(ModuleNotFoundError):
        run(raising(ModuleNotFoundError("No module", name=name)))
