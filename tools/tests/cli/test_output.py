"""Where an answer goes: a file of -o in the format of its name, complete or not at all; a pager on a terminal."""

import csv
import io
import json
import os
import pty
import re
import subprocess
from pathlib import Path

import pytest

from tests.support import commands, in_process, synthetic
from tlsmem.base.errors import UserError
from tlsmem.cli import output, registry
from tlsmem.cli.dispatch import run_words

SUITE, STACK = "tls13-rsa-aes256", "openssl@3.5.5"
CLEAR = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")


@pytest.fixture(scope="module")
def recording(tmp_path_factory) -> Path:
    return synthetic.write(tmp_path_factory.mktemp("recorded") / "recording", synthetic.campaign([STACK], [SUITE]))


def show(recording: Path, *words: object) -> int:
    return in_process.exit_status(
        lambda: run_words(["show", "tables", str(recording), "--table=heap", *map(str, words)])
    )


@pytest.mark.parametrize(
    ("name", "form"), [("a.csv", "csv"), ("a.md", "markdown"), ("a.json", "json"), ("a.txt", "table")]
)
def test_a_file_has_the_format_of_its_name(recording, tmp_path, capsys, name, form):
    assert show(recording, "-o", tmp_path / name) == 0
    assert capsys.readouterr() == ("", "")
    assert show(recording, "--format", form) == 0
    assert (tmp_path / name).read_text() == capsys.readouterr().out
    assert [file.name for file in tmp_path.iterdir()] == [name]
    assert (tmp_path / name).stat().st_mode & 0o777 == 0o666 & ~os.umask(os.umask(0o022))


def test_what_is_in_a_file_is_read_by_programs(recording, tmp_path):
    assert show(recording, "-o", tmp_path / "a.csv") == show(recording, "-o", tmp_path / "a.json") == 0
    rows = list(csv.DictReader(io.StringIO((tmp_path / "a.csv").read_text())))
    (table,) = json.loads((tmp_path / "a.json").read_text())["tables"]
    assert len(rows) == len(table["rows"]) > 1 and rows[0]["stack"] == table["rows"][0]["stack"] == STACK


def test_the_format_that_the_name_has_may_be_named_too(recording, tmp_path):
    assert show(recording, "-o", tmp_path / "a.csv", "--format", "csv") == 0


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("-o a.xlsx", "-o a.xlsx: the name must end in .md, .csv, .json or .txt"),
        ("-o a", "-o a: the name must end in .md, .csv, .json or .txt"),
        ("-o a.png", "-o a.png: the name must end in .md, .csv, .json or .txt"),
        ("-o a.csv --format json", "-o a.csv is a file of csv, and --format json asks for another; leave one out"),
        ("-o a.md --into page.md", "-o and --into both say where the answer goes; leave one out"),
    ],
)
def test_what_a_file_cannot_be_is_a_sentence_and_none_is_made(recording, tmp_path, monkeypatch, capsys, words, said):
    monkeypatch.chdir(tmp_path)
    if "page.md" in words:
        (tmp_path / "page.md").touch()
    assert show(recording, *words.split()) == 2
    assert capsys.readouterr() == ("", f"memtest: {said}\n")
    assert [one.name for one in tmp_path.iterdir() if one.stat().st_size or one.name != "page.md"] == []


@pytest.mark.parametrize(
    "words",
    [
        "cost openssl@3.5.5 --mtls",
        "plan memory --connections 1000 --stack openssl@3.5.5 --pq",
        "stacks --sources --stacks null@c",
        "help --reference",
    ],
)
def test_a_page_takes_the_answer_below_its_command_and_below_no_other(tmp_path, words):
    page = tmp_path / "page.md"
    marks = [f"<!-- begin: tools/tls-memtest {one} -->" for one in (words, f"{words} --format json", "why data")]
    page.write_text("\n<!-- end -->\n".join([*marks, ""]))
    assert in_process.exit_status(lambda: run_words([*words.split(), "--into", str(page)])) == 0
    first, *others = page.read_text().split("<!-- end -->\n")
    assert first.startswith(marks[0]) and len(first) > len(marks[0]) + 100
    assert others == [f"{mark}\n" for mark in marks[1:]] + [""]


def test_a_command_that_draws_names_the_pictures_too():
    with pytest.raises(UserError) as stop:
        run_words(["cost", "-o", "a.xlsx"])
    assert str(stop.value) == "-o a.xlsx: the name must end in .md, .csv, .json, .txt, .png or .svg"


def test_of_an_answer_that_fails_there_is_no_file_and_an_older_one_stays(recording, tmp_path, capsys):
    kept = tmp_path / "a.csv"
    kept.write_text("before\n")
    for file in (kept, tmp_path / "b.csv"):
        assert show(recording, "--suite=tls14", "-o", file) == 2
    assert capsys.readouterr().out == ""
    assert kept.read_text() == "before\n" and [*tmp_path.iterdir()] == [kept]


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("there.csv", "there.csv is a directory; name a file"),
        ("fifo.csv", "fifo.csv is no regular file; name a file"),
        (".csv", ".csv: there is nothing before .csv; name a file"),
    ],
)
def test_what_is_no_file_is_left_alone(recording, tmp_path, monkeypatch, capsys, name, said):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "there.csv").mkdir()
    os.mkfifo(tmp_path / "fifo.csv")
    assert show(recording, "-o", name) == 2
    assert capsys.readouterr() == ("", f"memtest: -o {said}\n")
    assert sorted(file.name for file in tmp_path.iterdir()) == ["fifo.csv", "there.csv"]


def test_a_picture_is_not_drawn_beside_a_directory_or_a_device():
    for place, what in {"/tmp": "a directory", "/dev/full": "no regular file"}.items():
        with pytest.raises(UserError) as stop:
            run_words(["cost", "-o", place])
        assert str(stop.value) == f"-o {place} is {what}; name a file" and stop.value.status == 2


def test_a_recording_of_variants_alone_has_the_suite_that_is_asked_for_in_words(tmp_path, capsys):
    variants = [f"{SUITE}-pq+{end}" for end in ("tickets-library", "low-memory")]
    path = synthetic.write(tmp_path / "variants", synthetic.campaign([STACK], [SUITE, *variants]))
    assert show(path, "--pq", "--format=csv") == 0
    assert {row["suite"] for row in csv.DictReader(io.StringIO(capsys.readouterr().out))} == {*variants}
    assert show(path, "--suite", f"{SUITE}-pq") == 2  # a name is one suite
    path = synthetic.write(tmp_path / "both", synthetic.campaign([STACK], [f"{SUITE}-pq", *variants]))
    capsys.readouterr()
    assert show(path, "--pq", "--format=csv") == 0
    assert {row["suite"] for row in csv.DictReader(io.StringIO(capsys.readouterr().out))} <= {f"{SUITE}-pq", ""}


def test_a_link_stays_a_link(recording, tmp_path):
    (tmp_path / "there").mkdir()
    (tmp_path / "a.csv").symlink_to("there/b.csv")
    assert show(recording, "-o", tmp_path / "a.csv") == 0
    assert (tmp_path / "a.csv").is_symlink() and (tmp_path / "there/b.csv").stat().st_size > 100


@pytest.mark.parametrize(("place", "why"), [("none", "No such file or directory"), ("file", "Not a directory")])
def test_a_place_that_is_not_there_is_a_sentence(recording, tmp_path, capsys, place, why):
    (tmp_path / "file").touch()
    assert show(recording, "-o", tmp_path / place / "a.csv") == 1
    assert capsys.readouterr() == ("", f"memtest: {tmp_path / place / 'a.csv'}: {why}\n")


def test_a_full_disk_is_a_sentence_and_leaves_no_file(recording, small_disk, capsys):
    with (small_disk / "fill").open("wb") as fill:
        while True:
            try:
                os.write(fill.fileno(), bytes(1 << 12))
            except OSError:
                break
    assert show(recording, "-o", small_disk / "a.csv") == 1
    said = capsys.readouterr()
    assert said.out == "" and said.err.endswith("No space left on device\n") and said.err.count("\n") == 1
    assert [file.name for file in small_disk.iterdir() if file.name != "lost+found"] == ["fill"]


@pytest.mark.parametrize(
    "command", [one for one in registry.all_commands() if one.is_answer], ids=lambda one: one.words
)
def test_every_answer_has_a_format_and_a_file(command):
    flags = {flag for option in command.options for flag in option.flags}
    assert {"--format", "-o", "--output"} <= flags


def on_terminal(words: list[str], columns: int = 100, **variables: str) -> tuple[str, int]:
    """What a terminal of so many columns is sent by a command, and its exit status."""
    child, terminal = pty.fork()
    if not child:
        os.environ.update({"TERM": "xterm"} | variables)
        script = f'unset COLUMNS; stty cols {columns} rows 24 -onlcr; exec "$@"'  # readline may have set it
        os.execvp("sh", ["sh", "-c", script, "sh", *words])
    found = b""
    while True:
        try:
            read = os.read(terminal, 1 << 16)
        except OSError:  # its other end is closed
            break
        if not read:
            break
        found += read
    os.close(terminal)
    return found.decode(), os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def pager(folder: Path, text: str) -> str:
    """A program that is a pager."""
    folder.mkdir(exist_ok=True)
    program = folder / "pager"
    program.write_text(f"#!/bin/sh\n{text}\n")
    program.chmod(0o755)
    return str(program)


@pytest.mark.thorough
def test_a_pager_has_the_text_of_the_terminal(recording, tmp_path):
    """With its colours, and as wide."""
    words = [*commands.command_line("show tables"), str(recording), "--table=heap"]
    plain, paged = (on_terminal(words, PAGER=name) for name in ("nothing-of-this-name", "cat"))
    kept = on_terminal(words, PAGER=pager(tmp_path / "a", f"tee {tmp_path}/seen"))
    assert plain == paged == kept and plain[1] == 0
    assert (tmp_path / "seen").read_text() == plain[0]
    assert "\x1b[1m" in plain[0] and STACK in plain[0]
    assert 80 < max(len(CLEAR.sub("", line)) for line in plain[0].splitlines()) <= 100


@pytest.mark.thorough
@pytest.mark.parametrize("program", ["false", "exit 1", "head -c 10 > /dev/null; kill $$", "", "\x7fELF"])
def test_a_pager_that_fails_is_none(recording, tmp_path, program):
    words = [*commands.command_line("show tables"), str(recording), "--table=heap"]
    broken = pager(tmp_path, program)
    if not program:
        (tmp_path / "pager").unlink()
    if program.startswith("\x7f"):
        (tmp_path / "pager").write_text(program)
    assert on_terminal(words, PAGER="false" if program == "false" else broken) == on_terminal(words, PAGER="cat")


@pytest.mark.thorough
def test_what_went_wrong_is_said_below_a_pager_and_is_the_status(recording):
    said, status = on_terminal([*commands.command_line("show tables"), str(recording), "--suite=tls14"], PAGER="cat")
    assert status == 2 and "memtest: " in said and "Traceback" not in said


@pytest.mark.thorough
def test_who_leaves_a_pager_has_seen_enough(recording, tmp_path):
    words = [*commands.command_line("show tables"), str(recording)]
    said, _ = on_terminal(words, PAGER=pager(tmp_path, "head -n 1"))
    assert "Traceback" not in said and "memtest: " not in said and said.count("\n") == 1


def test_a_pager_that_cannot_be_read_is_a_sentence(recording):
    words = [*commands.command_line("show tables"), str(recording)]
    said, status = on_terminal(words, PAGER="'less")
    assert (said.strip(), status) == ("memtest: PAGER='less: No closing quotation; correct it, or unset it", 1)


@pytest.mark.thorough
def test_a_pager_keeps_the_terminal_after_an_interrupt(recording, tmp_path):
    """less goes on after Ctrl-C: the shell must not have the terminal before it is left."""
    words = [*commands.command_line("show tables"), str(recording), "--table=heap"]
    program = pager(tmp_path, "trap '' INT; cat > /dev/null; kill -INT 0; sleep 1; echo left")
    said, status = on_terminal(words, PAGER=program)
    assert (said.strip(), status) == ("left", 0)


@pytest.mark.thorough
def test_without_a_terminal_or_with_a_format_there_is_no_pager(recording, tmp_path):
    words = [*commands.command_line("show tables"), str(recording), "--table=heap"]
    program = pager(tmp_path, f"touch {tmp_path}/asked; cat")
    done = subprocess.run(words, capture_output=True, text=True, check=False, env=os.environ | {"PAGER": program})
    assert done.returncode == 0 and done.stdout.startswith("**")
    assert on_terminal([*words, "--format=csv"], PAGER=program)[1] == 0
    assert on_terminal([*words, "-o", str(tmp_path / "a.csv")], PAGER=program) == ("", 0)
    assert not (tmp_path / "asked").exists()


def test_a_pager_is_one_that_quits_where_one_screen_is_enough():
    assert output.PAGER.split() == ["less", "-FRX"]
