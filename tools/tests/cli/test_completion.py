"""Completion in a shell: which words may follow, and the scripts that ask for them."""

import os
import shutil
import subprocess

import pytest

from tests.support import commands
from tlsmem.base.paths import ROOT
from tlsmem.cli import registry
from tlsmem.cli.dispatch import run_words
from tlsmem.cli.help import SCRIPTS, following_words
from tlsmem.config import choices
from tlsmem.config.toml_tables import read_tables
from tlsmem.schema.roles import ROLES

SOURCED = {"bash": ["bash", "--norc", "-c"], "zsh": ["zsh", "-f", "-c"], "fish": ["fish", "--no-config", "-c"]}
BEFORE = {"zsh": "autoload -Uz compinit && compinit -u -D; "}


@pytest.mark.parametrize(
    ("words", "found"),
    [
        ("co", ["cost"]),
        ("diff b", ["builds"]),
        ("cost --ro", ["--role"]),
        ("cost --role ", list(ROLES)),
        ("plan memory --role ", list(choices.SIDES)),
        ("plan memory --state i", ["in-use"]),
        ("show tables data --table pea", ["peaks"]),
        ("show tables data --format j", ["json"]),
        ("cost --suite tls12-rsa-aes256", [one for one in read_tables("suites") if one.startswith("tls12-rsa-aes256")]),
        (
            "measure mem --suites tls12-rsa-aes256",
            [one for one in read_tables("suites") if one.startswith("tls12-rsa-aes256")],
        ),
        ("cost openssl@3.5.5", ["openssl@3.5.5"]),
        ("heap record --stack openssl@3.5.5", ["openssl@3.5.5"]),
        ("measure s", ["scheduler", *(one for one in read_tables("campaigns") if one.startswith("s"))]),
        ("help completion ", ["bash", "zsh", "fish"]),
        ("nosuch ", []),
    ],
)
def test_what_may_follow(words, found):
    assert following_words(words.split(" ")) == found


def test_every_word_of_every_command_follows_those_before_it():
    assert following_words([""]) == list(registry.GROUPS)
    for command in registry.all_commands():
        words = command.words.split()
        if command.run and not words[-1].startswith("-"):
            assert all(words[at] in following_words([*words[:at], ""]) for at in range(len(words))), command.words
            assert {option.flag for option in command.options if not option.is_positional} <= {
                *following_words([*words, "-"])
            }


def test_the_command_prints_them_one_a_line(capsys):
    assert not run_words(["help", "--words", "--", "cost", "--ro"])
    assert capsys.readouterr().out == "--role\n"
    assert not run_words(["help", "--words", "--", "cost", "--suite", "none"])
    assert capsys.readouterr().out == "none\n"


@pytest.mark.parametrize("shell", SCRIPTS)
def test_a_shell_takes_its_script_without_an_error(shell, tmp_path):
    if not shutil.which(shell):
        pytest.skip(f"{shell} is not installed")
    script = subprocess.run(
        [*commands.command_line("help completion"), shell], capture_output=True, text=True, check=True
    )
    words = [*SOURCED[shell], f"{BEFORE.get(shell, '')}{script.stdout}"]
    done = subprocess.run(words, capture_output=True, text=True, check=False, env=os.environ | {"HOME": str(tmp_path)})
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


@pytest.mark.skipif(not shutil.which("bash"), reason="bash is not installed")
@pytest.mark.parametrize("program", ["tls-memtest", "tools/tls-memtest"])
@pytest.mark.parametrize(
    ("words", "found"),
    [
        ("cost --ro", ["--role"]),
        pytest.param("cost --state", [], marks=pytest.mark.thorough),
        pytest.param("plan m", ["memory"], marks=pytest.mark.thorough),
        ("cost openssl @ 3.5.5", ["3.5.5"]),  # readline splits a name at @, and a value at =
        (
            "cost openssl @",
            [one.removeprefix("openssl@") for one in read_tables("stacks") if one.startswith("openssl@")],
        ),
        ("cost --role = se", ["server"]),
    ],
)
def test_bash_is_offered_them(program, words, found):
    """As it calls the function: with the line, the words that it made of it, and the number of the last."""
    line = f"{program} {words}".replace(" @ ", "@").replace(" @", "@").replace(" = ", "=")
    parts = (
        f"COMP_WORDS=({program} {words})\nCOMP_CWORD={len(words.split())}\nCOMP_LINE='{line}'\nCOMP_POINT={len(line)}"
    )
    asked = f'{SCRIPTS["bash"]}\n{parts}\n_tls_memtest\nprintf "%s\\n" "${{COMPREPLY[@]}}"'
    path = f"{ROOT / 'tools'}:{os.environ['PATH']}" if "/" not in program else os.environ["PATH"]
    command, there = [*SOURCED["bash"], asked], os.environ | {"PATH": path}
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False, env=there)
    assert done.returncode == 0 and done.stdout.split() == found, done.stderr
