"""A stack may be named by its library, a release series or in capitals, wherever a stack is named."""

import json
import subprocess

import pytest

from tests.support.commands import command_line, parse, parse_target
from tlsmem.base.paths import ROOT
from tlsmem.build import schedule
from tlsmem.config import definitions, stack_names
from tlsmem.stats.selection import choose_values

OPENSSL, RUSTLS = stack_names.newest_releases(definitions.stacks())["openssl"], "rustls+aws-lc@0.24.0-dev.2"
RING = "rustls+ring@0.23.46"  # not 0.24.0-dev.2
NAMES = {
    "OpenSSL": OPENSSL,
    "rustls@0.24": RUSTLS,
    "rustls+ring": RING,
    "OPENSSL@3.5.5": "openssl@3.5.5",
    "libressl@3": "libressl@3.1.0",
}


@pytest.mark.parametrize("name", NAMES)
def test_a_name_stands_for_a_stack_of_the_definitions(name, capsys):
    stack_names.announce.cache_clear()
    assert stack_names.resolve_names(name) == NAMES[name]
    assert capsys.readouterr().err == f"memtest: {name}: using {NAMES[name]}\n"


@pytest.mark.parametrize("text", ["openssl@3.5.5", "all", "openssl@git:main", "openssl@path:.", "nonsense", "null", ""])
def test_exact_names_trees_and_unknown_names_stay_and_nothing_is_said(text, capsys):
    assert stack_names.resolve_names(text) == text
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize(
    ("command", "option", "several"),
    [
        ("measure", "stacks", True),
        ("measure", "client", False),
        ("stacks", "stacks", True),
        ("heap record", "stack", False),
        ("diff builds", "a", False),
    ],
)
def test_commands_take_every_name(command, option, several):
    others = ["--b", "openssl@3.4.1"] if option == "a" else []
    for name, stack in NAMES.items():
        given = parse(command, f"--{option}", name, *others)
        assert getattr(given, option) == ([stack] if several else stack)


def test_stacks_are_built_by_every_name():
    given = parse("build", *NAMES)
    given.stacks = [name for names in given.stacks for name in names]
    assert schedule.requested_stacks(given) == list(dict.fromkeys(NAMES.values()))


def test_make_takes_every_name():
    assert parse_target("mem", STACKS=" ".join(NAMES)).stacks == list(dict.fromkeys(NAMES.values()))
    given = parse_target("compare", A="OpenSSL", B="openssl@3.4")
    assert (given.a, given.b) == (OPENSSL, "openssl@3.4.1")


@pytest.mark.parametrize(("name", "library"), [("OpenSSL", "openssl"), ("Rustls+AWS-LC", "rustls+aws-lc")])
def test_a_library_may_have_the_name_that_people_write(name, library):
    assert parse("diff releases", "--library", name).library == library


def test_runs_of_a_recording_are_chosen_by_every_name():
    there = ["openssl@3.5.5", "openssl@3.4.1", RUSTLS]
    assert choose_values(["OpenSSL", "rustls@0.24"], there, "the stack") == ["openssl@3.5.5", RUSTLS]
    with pytest.raises(ValueError, match="no runs of the suite OpenSSL"):
        choose_values(["OpenSSL"], there, "the suite")


@pytest.mark.thorough
def test_a_command_says_once_which_stack_it_takes():
    done = subprocess.run([*command_line("stacks --stacks OpenSSL --format json")], capture_output=True, text=True)
    assert done.returncode == 0 and done.stderr.count(f"memtest: OpenSSL: using {OPENSSL}\n") == 1
    assert [row["stack"] for row in json.loads(done.stdout)["tables"][0]["rows"]] == [OPENSSL]


def test_a_release_that_is_not_recorded_has_the_nearest_of_its_series_first():
    there = ["openssl@1.1.1w", "openssl@3.0.22", "openssl@3.0.20", "openssl@3.6.3", "openssl@4.0.3", "gnutls@3.0.13"]
    with pytest.raises(ValueError, match=r"did you mean openssl@3\.0\.20, openssl@3\.0\.22 or openssl@4\.0\.3\?$"):
        choose_values(["openssl@3.0.13"], there, "the stack")
    with pytest.raises(ValueError, match=r"no runs of the stack opensl; did you mean openssl@"):
        choose_values(["opensl"], there, "the stack")


def test_another_build_of_the_same_release_comes_first():
    there = ["openssl@3.5.7", "openssl@3.5.5", "openssl+debian@3.5.9", "gnutls+debian@3.5.9"]
    with pytest.raises(ValueError, match=r"did you mean openssl\+debian@3\.5\.9, openssl@3\.5\.7"):
        choose_values(["openssl@3.5.9"], there, "the stack")


def test_a_series_is_of_the_build_that_was_its_default():
    there = [f"rustls+{build}@{release}" for build in ("aws-lc", "ring") for release in ("0.22.0", "0.23.46")]
    assert stack_names.match_stack("rustls@0.22", there) == "rustls+ring@0.22.0"
    assert stack_names.match_stack("rustls@0.23", there) == "rustls+aws-lc@0.23.46"
    assert stack_names.match_stack("rustls@0.22", ["rustls+aws-lc@0.22.0"]) == "rustls+aws-lc@0.22.0"


@pytest.mark.thorough
def test_the_table_of_advisories_leads_to_the_register():
    line = "show tables data/2026-11-26-amd-epyc-p355e-advisories --stack openssl@3.0.13 --table advisories"
    done = subprocess.run([*command_line(line)], capture_output=True, text=True, cwd=ROOT)
    assert (done.returncode, done.stdout) == (2, "")
    assert "did you mean openssl@3.0.20, " in done.stderr
    assert "docs/reference/advisories.md" in done.stderr and (ROOT / "docs/reference/advisories.md").is_file()


@pytest.mark.thorough
def test_a_recording_of_another_scenario_is_shown_by_every_name():
    line = "show tables data/2026-11-24-amd-epyc-p0457-churn --stack rustls --table churn --format json"
    done = subprocess.run([*command_line(line)], capture_output=True, text=True, cwd=ROOT)
    assert done.returncode == 0, done.stderr
    assert {row["stack"] for row in json.loads(done.stdout)["tables"][0]["rows"]} == {"rustls+aws-lc@0.23.46"}
