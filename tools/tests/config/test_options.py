"""The table of options: names are unique where they are taken, defaults and examples hold, and the page is current."""

import re
import shlex
from typing import get_args

import pytest

from tlsmem.base.errors import UserError
from tlsmem.base.paths import ROOT
from tlsmem.build import system_packages
from tlsmem.config import choices, option_pages
from tlsmem.config.option_kinds import Build, Directory, Flag, Kind, Library, Names, Number, Numbers, Parsed
from tlsmem.config.option_model import GOALS, Default, Option, Words
from tlsmem.config.option_parser import default_text, make_parser
from tlsmem.config.option_variables import VARIABLES
from tlsmem.config.options import OPTIONS, options_of_command, options_of_goal
from tlsmem.schema.harness_output import Cpu

COMMANDS = option_pages.commands()
UNCHECKED = (Build, Directory)  # whose examples are of another machine


def test_a_target_and_a_command_have_each_name_once():
    for goal in GOALS:
        taken = [option.name for option in OPTIONS if goal in option.goals]
        assert len(taken) == len(set(taken))
    for command in COMMANDS:
        flags = [flag for option, _ in options_of_command(command) for flag in option.option_strings]
        assert len(flags) == len(set(flags)), command


def test_what_takes_an_option_is_a_target_of_make_or_a_script():
    assert {goal for option in OPTIONS for goal in option.goals} == set(GOALS)
    rules = (ROOT / "Makefile").read_text()
    assert [goal for goal in GOALS if f"\n{goal}: names " not in rules] == []
    scripts = {ROOT / f"tools/{command.partition(' ')[0]}.py" for command in COMMANDS}
    assert [script for script in scripts if not script.is_file()] == []
    assert set((ROOT / "tools").glob("*.py")) <= scripts


@pytest.mark.parametrize("option", VARIABLES, ids=lambda option: f"{option.name}-{'-'.join(option.goals)}")
def test_a_variable_of_make_is_a_flag_of_the_command_by_that_name_and_its_example_holds(option):
    if option.option_strings:
        assert f"--{option.name.lower()}" in option.option_strings
    (word,) = shlex.split(option.example)
    name, _, value = word.partition("=")
    assert name == option.name
    if not isinstance(option.kind, UNCHECKED):
        option.kind.check(name, value)


def literal_defaults() -> list[tuple[Option, Default]]:
    defaults = ((option, default) for option in OPTIONS for default in {**option.goals, **option.commands}.values())
    return [(option, default) for option, default in defaults if default is not None]


def test_every_default_that_is_a_value_is_one_that_the_option_takes():
    for option, default in literal_defaults():
        if isinstance(default, Words):
            continue
        text = default_text(default)
        assert text, option.name
        if isinstance(option.kind, Parsed):
            option.kind.parse(text)
        else:
            option.kind.check(option.name, text)


def test_a_variable_says_what_it_is_where_it_is_not_given():
    assert [option.name for option in VARIABLES for default in option.goals.values() if default is None] == []


def test_meanings_are_one_line_each_without_an_end():
    meanings = [option.help for option in OPTIONS]
    assert [text for text in meanings if not text or "\n" in text or text.endswith(".")] == []


@pytest.mark.parametrize("kind", Kind.__subclasses__())
def test_every_kind_says_what_it_takes(kind):
    used = [option.kind for option in OPTIONS if isinstance(option.kind, kind)]
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
        kind.check("X", value)
    sentence = str(refused.value)
    assert sentence.startswith(named[0]) and all(name in sentence for name in named)
    assert re.sub(r"there are: .*", "there are: NAMES", sentence) == snapshot


def test_an_option_that_is_not_known_gets_the_nearest(snapshot):
    with pytest.raises(UserError) as stop:
        make_parser("tabulate", None).parse_args(["recording", "--tabel=heap"])
    assert stop.value.status == 2
    refused, _, nearest = str(stop.value).partition("--tabel=heap")
    assert refused and "--table" in nearest
    assert nearest == snapshot


def test_a_value_of_a_command_alone_gets_the_nearest(snapshot):
    with pytest.raises(UserError) as stop:
        make_parser("tabulate", None).parse_args(["recording", "--table=haep"])
    assert stop.value.status == 2
    option, _, sentence = str(stop.value).partition(" haep ")
    assert option.endswith("--table:") and "settings, " in sentence and "heap" in sentence
    assert re.sub(r"settings, [^;]+", "NAMES", sentence) == snapshot


def test_names_that_other_modules_have_too_are_theirs():
    assert tuple(system_packages.PURPOSES) == choices.PURPOSES
    assert tuple(system_packages.PROFILERS) == choices.PROFILERS
    assert get_args(Cpu) == choices.CPU_FEATURES


def test_the_page_of_options_is_current():
    page = (ROOT / "docs/reference/options.md").read_text()
    block = page.partition("<!-- begin: tools/names.py --reference -->\n")[2].partition("<!-- end -->")[0]
    assert block.strip() == option_pages.reference_text().strip(), "make it again: make figures"


def test_what_make_reads_has_the_options_of_every_target():
    lines = option_pages.makefile_text().splitlines()
    (switches,) = (line for line in lines if line.startswith("switches := "))
    assert "FRESH" in switches.split() and "N" not in switches.split()
    for goal in GOALS:
        assert f"{goal}: takes := {' '.join(options_of_goal(goal))}" in lines


@pytest.mark.parametrize("goal", GOALS)
def test_every_option_of_a_target_is_listed_apart_from_its_meaning(goal):
    shown = option_pages.help_text(goal).splitlines()
    names = [line.split("  ")[1] for line in shown if line.startswith("  ") and not line.startswith("   ")]
    assert names == list(options_of_goal(goal))
