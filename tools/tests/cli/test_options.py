"""The table of options: names are unique where they are taken, defaults and examples hold, and the page is current."""

import re
import shlex
from pathlib import Path
from typing import get_args

import pytest

from tests.support import commands
from tlsmem.base.errors import UserError
from tlsmem.base.paths import ROOT
from tlsmem.build import system_packages
from tlsmem.cli import help
from tlsmem.cli.command import IN_WORDS, Command
from tlsmem.cli.kinds import Build, Directory, Flag, Kind, Library, Names, Number, Numbers, Parsed, ServerNames
from tlsmem.cli.options import OPTIONS, REQUIRED, Words, default_text
from tlsmem.cli.registry import GROUPS, OLD_SCRIPTS, all_commands
from tlsmem.config import choices
from tlsmem.config.toml_tables import read_tables
from tlsmem.schema.harness_output import Cpu
from tlsmem.slides import reconnect_storm

COMMANDS = all_commands()
TARGETS = [command for command in COMMANDS if command.target]
EXAMPLES = {key: option for key, option in OPTIONS.items() if "=" in option.example}
UNCHECKED = (Build, Directory)  # whose examples are of another machine


def name_command(command: Command) -> str:
    return command.words.replace(" ", "-") or command.target


def test_the_slide_of_a_storm_has_each_value_of_plan_storm():
    """But for what is the slide's own, and what says where an answer goes."""
    command = next(one for one in COMMANDS if one.words == "plan storm")
    given = vars(command.parse(["--clients", str(reconnect_storm.CLIENTS)]))
    own = {"stack", "suite", "recording", "mtls", "pq", "pq_cert", "ecdsa", "tls12"}
    output = {"output", "into", "details", "table", "format"}
    asked = {name: value for name, value in given.items() if name not in own | output}
    assert asked == {name: value for name, value in reconnect_storm.STORM.items() if name not in own}


@pytest.mark.parametrize("command", COMMANDS, ids=name_command)
def test_a_command_has_each_flag_once_and_its_defaults_are_values(command):
    flags = [flag for option in command.options for flag in option.flags]
    assert len(flags) == len(set(flags))
    command.parser()
    for key, default in command.takes.items():
        if default is None or isinstance(default, Words):
            continue
        assert default_text(default), key
        OPTIONS[key].kind.parse(key, default_text(default))


def test_every_option_is_taken_by_a_command():
    assert OPTIONS.keys() - {key for command in COMMANDS for key in command.takes} == set()


def test_an_option_of_the_same_flag_and_meaning_is_declared_once():
    said = [(option.flag, option.help, option.kind, option.nargs) for option in OPTIONS.values()]
    assert len(said) == len(set(said))


def test_targets_of_make_pass_their_options_on_or_are_for_developers():
    rules = (ROOT / "Makefile").read_text()
    listed = " ".join(re.findall(r"^(?:MEASURING|COMPARING|READING|DEVELOPING) := (.*)$", rules, re.MULTILINE))
    assert sorted(listed.split()) == sorted(command.target for command in TARGETS)


@pytest.mark.parametrize("key", EXAMPLES)
def test_the_example_of_an_option_of_make_holds(key):
    option = OPTIONS[key]
    (word,) = shlex.split(option.example)
    name, _, value = word.partition("=")
    assert f"--{name.lower().replace('_', '-')}" in option.flags
    if not isinstance(option.kind, UNCHECKED):
        option.kind.parse(name, value)


@pytest.mark.parametrize("command", TARGETS, ids=name_command)
def test_an_option_of_make_says_what_it_is_where_it_is_not_given(command):
    silent = [key for key, default in command.takes.items() if key in EXAMPLES and default is None]
    assert [key for key in silent if not isinstance(OPTIONS[key].kind, Flag | ServerNames)] == []


def test_meanings_are_one_line_each_without_an_end():
    meanings = [option.help for option in OPTIONS.values()] + [command.summary for command in COMMANDS]
    assert [text for text in meanings if not text or "\n" in text or text.endswith(".")] == []


@pytest.mark.parametrize("kind", Kind.__subclasses__())
def test_every_kind_says_what_it_takes(kind):
    used = [option.kind for option in OPTIONS.values() if isinstance(option.kind, kind)]
    assert used and all(one.describe() != Kind().describe() for one in used)


@pytest.mark.parametrize(
    ("kind", "value", "named"),
    [
        pytest.param(Number(2, 10, even=True), "12", ["X=12", "10"], id="number"),
        pytest.param(Number(0, 10, word="all"), "al", ["X=al", "0", "10", "mean all?"], id="number or word"),
        pytest.param(Numbers(10), "1,11", ["X=11", "10"], id="numbers"),
        pytest.param(Flag(), "yes", ["X=yes", "0", "1"], id="flag"),
        pytest.param(Names("allocator"), "zzz", ["X: ", "zzz", "memtest/allocators.toml", "system, "], id="allocator"),
        pytest.param(Names("suite"), "tls13-rsa-aes25", ["X: ", "tls13-rsa-aes25;", "memtest/suites.toml"], id="suite"),
        pytest.param(Library(), "qqqq", ["X=qqqq", "memtest/stacks.toml", "openssl, "], id="library"),
        pytest.param(Build(), "openssl@path:~nobody-here/x", ["X=openssl@path:~nobody-here/x: "], id="build"),
    ],
)
def test_a_sentence_names_option_value_and_what_is_allowed(kind, value, named, snapshot):
    with pytest.raises(ValueError) as refused:
        kind.parse("X", value)
    sentence = str(refused.value)
    assert sentence.startswith(named[0]) and all(name in sentence for name in named)
    assert re.sub(r"there are: .*", "there are: NAMES", sentence) == snapshot


def refusal(words: str, *arguments: str) -> str:
    with pytest.raises(UserError) as stop:
        commands.parse(words, *arguments)
    assert stop.value.status == 2
    return str(stop.value)


def test_an_option_that_is_not_known_gets_the_nearest(snapshot):
    assert refusal("show tables", "recording", "--tabel=heap") == snapshot


def test_a_value_of_a_command_gets_the_nearest(snapshot):
    said = refusal("show tables", "recording", "--table=haep")
    assert re.sub(r"settings, [^;]+", "NAMES", said) == snapshot


@pytest.mark.parametrize(
    ("command", "words", "name", "value"),
    [
        ("measure", ["--n", "1e6"], "n", 1_000_000),
        ("measure", ["--n", "10,000", "--window", "1e2"], "window", 100),
        ("measure", ["--sizes", "16K,1e6,100"], "sizes", [16384, 1_000_000, 100]),
        ("measure", ["--heap", "all"], "heap", "all"),
        ("measure", ["N=100"], "n", 100),
        ("measure live", ["--server", "nginx", "--n", "1e4,3k"], "n", [10_000, 3_000]),
        ("plan memory", ["--connections", "1e6"], "connections", 1_000_000),
        ("show tables", ["recording", "--n", "1e4"], "n", [10_000]),
        ("show tables", ["recording", "--rows", "1e1"], "rows", 10),
        ("measure kernel", ["--pairs", "1e3"], "pairs", 1_000),
        ("measure mem", ["STACKS=null@c,null@rust null@c"], "stacks", ["null@c", "null@rust"]),
        ("heap record", ["FRESH=1"], "fresh", True),
        ("heap record", ["FRESH=0"], "fresh", False),
        ("show report", ["RECORDINGS=a b"], "recordings", [Path("a"), Path("b")]),
    ],
)
def test_a_word_becomes_its_value_at_the_door(command, words, name, value):
    assert getattr(commands.parse(command, *words), name) == value


@pytest.mark.parametrize(("command", "option"), [("plan memory", "--connections"), ("heap read", "--top")])
def test_a_count_of_thousands_of_digits_is_one_sentence(command, option):
    words = ["x"] * (command != "plan memory") + [option, "9" * 5000]
    assert re.search(r"digits|too large", refusal(command, *words))


@pytest.mark.parametrize(
    ("words", "suite"),
    [
        (["--mtls"], "tls13-rsa-aes256-mutual"),
        (["--pq"], "tls13-rsa-aes256-pq"),
        (["--pq-cert"], "tls13-mldsa65-aes256"),
        (["--ecdsa", "--tls12"], "tls12-ecdsa-aes256"),
        (["--pq", "--mtls"], "tls13-rsa-aes256-pq-mutual"),
        (["--suite", "none"], "none"),
        ([], None),
    ],
)
def test_words_that_people_use_choose_a_suite(words, suite):
    assert commands.parse("cost", *words).suite == suite
    assert commands.parse("show tables", "recording", *words).suite == (None if suite is None else [suite])


def test_words_for_a_suite_that_is_not_there_are_a_sentence(snapshot):
    assert refusal("cost", "--pq", "--tls12") == snapshot
    assert refusal("cost", "--mtls", "--suite", "none") == snapshot
    assert refusal("cost", "--pq-cert", "--ecdsa") == snapshot


@pytest.mark.parametrize("key", IN_WORDS)
def test_each_word_alone_is_a_suite(key):
    suite = commands.parse("cost", OPTIONS[key].flag).suite
    assert suite in read_tables("suites")


def test_names_that_other_modules_have_too_are_theirs():
    assert tuple(system_packages.PURPOSES) == choices.PURPOSES
    assert tuple(system_packages.PROFILERS) == choices.PROFILERS
    assert get_args(Cpu) == choices.CPU_FEATURES


def test_the_page_of_options_is_current():
    page = (ROOT / "docs/reference/options.md").read_text()
    block = page.partition("<!-- begin: tools/tls-memtest help --reference -->\n")[2].partition("<!-- end -->")[0]
    assert block.strip() == help.reference_text().strip(), "make it again: make figures"


@pytest.mark.parametrize("command", TARGETS, ids=name_command)
def test_the_help_of_a_target_lists_its_options(command):
    shown = help.page_of(["make", command.target]).splitlines()
    names = [line.split()[0] for line in shown if line.startswith("  ") and not line.startswith("   ")]
    assert names == command.variables()


def test_every_first_word_is_listed_with_what_it_does():
    page = help.front_page()
    assert all(f"\n  {group:<10}{about}\n" in page for group, about in GROUPS.items())
    shown = {command.words: command.summary in page for command in COMMANDS if command.run}
    for words, is_there in shown.items():
        assert is_there == (" --" not in words) or words in GROUPS, words
    assert "\n    --" not in page


def test_a_page_of_a_first_word_names_its_commands_so():
    usage, *_, last = help.page_of(["heap"]).splitlines()
    assert usage == "usage: tls-memtest heap COMMAND ..." and "heap COMMAND --help" in last
    assert help.front_page().startswith("usage: tls-memtest COMMAND ...\n")


def test_every_server_of_a_plan_is_named_in_its_option():
    names = re.split(", | or ", OPTIONS["as"].help.partition(": ")[2])
    assert names == list(read_tables("servers"))


def test_old_scripts_name_commands_that_are_there():
    words = {command.words for command in COMMANDS}
    for name, now in OLD_SCRIPTS.items():
        first = re.split(r"`| -- ", now)[0]
        assert first in words or first in GROUPS, name
        assert (ROOT / f"tools/{name}.py").is_file(), name


def test_a_required_option_is_asked_for():
    for command in COMMANDS:
        missing = [OPTIONS[key].flag for key, default in command.takes.items() if default is REQUIRED]
        if missing:
            with pytest.raises(UserError) as stop:
                command.parse([])
            assert any(flag in str(stop.value) for flag in missing) or " is missing: " in str(stop.value)


def test_the_kinds_of_values_are_parsed_by_functions():
    assert all(callable(option.kind.function) for option in OPTIONS.values() if isinstance(option.kind, Parsed))
