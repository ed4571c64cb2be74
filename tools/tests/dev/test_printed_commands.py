"""Every command of the pages and of --help runs as printed: its arguments are parsed, and the names in them known."""

import pytest

import printed_commands
from tlsmem.base.paths import ROOT
from tlsmem.cli.options import OPTIONS
from tlsmem.cli.registry import all_commands

PAGES = ("README.md", "CONTRIBUTING.md", "docs/**/*.md", "tools/README.md", "harness-*/README.md", "data/README.md")


def commands_of_pages():
    for file in [file for pattern in PAGES for file in sorted(ROOT.glob(pattern))]:
        yield from printed_commands.commands_of_markdown(str(file.relative_to(ROOT)), file.read_text())


def commands_of_help():
    for command in all_commands():
        for line in command.examples.splitlines():
            yield from printed_commands.commands_of_line(f"{command.words} --help", line)


@pytest.mark.thorough
def test_commands_of_pages_run_as_printed():
    found = list(commands_of_pages())
    assert len({one.text for one in found}) > 350
    assert list(printed_commands.find_refusals(found)) == []


@pytest.mark.thorough
def test_commands_of_help_run_as_printed():
    found = list(commands_of_help())
    assert len({one.text for one in found}) > 120
    assert list(printed_commands.find_refusals(found)) == []
    assert [one.text for one in found if "data/local/20" in one.text] == []  # no clone has a recording of that name
    assert not [one.example for one in OPTIONS.values() if "data/local/20" in one.example]


@pytest.mark.parametrize(
    ("line", "commands"),
    [
        ("make core && tools/tls-memtest build null@c   # seconds", ["make core", "tools/tls-memtest build null@c"]),
        ("BENCH_MULTIPLIER=0.1 make handshake OUT=build/try", ["make handshake OUT=build/try"]),
        ("tools/tls-memtest data schema | diff - docs/x", ["tools/tls-memtest data schema"]),
        (
            "tools/tls-memtest show tables data/x --table heap    of one, and why",
            ["tools/tls-memtest show tables data/x --table heap"],
        ),
        ('make mem STACKS="null@c null@rust"', ["make mem 'STACKS=null@c null@rust'"]),
        ("make the library smaller", ["make the library smaller"]),
        ("remake mem", []),
    ],
)
def test_commands_of_a_line(line, commands):
    assert [one.text for one in printed_commands.commands_of_line("x", line)] == commands


PAGE = """Run `make nosuch` or `tools/tls-memtest cost
--no-such`, but `make live` is named only, as is `tools/tls-memtest show report`.

    make live
    tools/tls-memtest show tables data/2026-11-21-amd-epyc-2 --table heap
    tools/tls-memtest show tables data/2020-01-01-none --table heap
    tools/tls-memtest show tables data/2026-11-21-amd-epyc-2 --suite tls13-rsa-aes

```sh
tools/tls-memtest measure mme --list
tools/no_such.py --list
```

<!-- begin: tools/tls-memtest cost --suit tls13-rsa-aes256 --role servr -->
"""


def test_a_command_that_does_not_run_is_named_with_its_page_and_why():
    faults = list(printed_commands.find_refusals(printed_commands.commands_of_markdown("page.md", PAGE)))
    named = {fault.split("`")[1]: fault.rpartition("`: ")[2] for fault in faults}
    assert all(fault.startswith("page.md: ") for fault in faults)
    assert [*named] == [
        "make live",
        "tools/tls-memtest show tables data/2020-01-01-none --table heap",
        "tools/tls-memtest show tables data/2026-11-21-amd-epyc-2 --suite tls13-rsa-aes",
        "tools/tls-memtest measure mme --list",
        "tools/no_such.py --list",
        "tools/tls-memtest cost --suit tls13-rsa-aes256 --role servr",
        "make nosuch",
        "tools/tls-memtest cost --no-such",
    ]
    assert named["make live"].startswith("--server is missing")
    assert "did you mean mem or" in named["tools/tls-memtest measure mme --list"]
    assert "--role" in named["tools/tls-memtest cost --suit tls13-rsa-aes256 --role servr"]
    assert named["make nosuch"] == "the Makefile has no target nosuch"
