"""The start page of the site: one number, which a command prints and the picture shows, and no list of its own."""

import re
import shlex
import sys

from tests.support import forked_command
from tlsmem.base.paths import ROOT

PAGE = (ROOT / "docs/index.md").read_text()
HEADLINE = re.search(r"^# .*\n\n\*\*([\d,]+ B) of RSS for one (\S+ \S+) server session in use\*\*\n", PAGE)
COMMAND = re.search(r"`tools/tls-memtest (cost \S+ --role server)`", PAGE)[1]
PICTURE = re.search(r"!\[[^]]+\]\((figures/\S+)\.png\)", PAGE)[1]


def test_the_command_prints_the_number_of_the_first_line():
    number, release = HEADLINE.groups()
    done = forked_command.run([sys.executable, ROOT / "tools/tls-memtest", *shlex.split(COMMAND)], cwd=ROOT)
    assert done.stdout.startswith(f"{release} · TLS 1.3, AES-256-GCM, X25519, RSA-2048\n")
    assert re.search(rf"library's defaults:\n\n +server\n(.*\n)*?  RSS in use +{number}  ", done.stdout), (
        f"docs/index.md: `{COMMAND}` does not print {number} for {release}; correct the page"
    )


def test_the_picture_shows_the_number_and_its_command_stands_below_it():
    words = re.findall(r"<!-- (.*?) -->", (ROOT / f"docs/{PICTURE}.svg").read_text())
    number, release = HEADLINE.groups()
    assert number in words and release in words
    assert f"Reproduce this figure: `tools/tls-memtest cost -o docs/{PICTURE}`" in PAGE


def test_the_questions_are_those_of_their_page():
    """Sphinx lists its headings here: a list by hand would be a second one."""
    assert re.search(r"^```\{toctree\}\n:maxdepth: 2\nquestions\n```$", PAGE, re.MULTILINE)
    assert "questions.md#" not in PAGE
