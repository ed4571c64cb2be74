"""Steps of `make check` and other checks of developers: the commands of each, and what becomes of one that fails."""

import re
import subprocess
import sys

import pytest

import checks
from tlsmem.base.errors import UserError
from tlsmem.base.paths import ROOT

THREE = "null@c null@rust null@go openssl@3.5.5 rustls+aws-lc@0.23.46 go@1.26.8"
COMMAS = THREE.replace(" ", ",")


def call(*words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, ROOT / "tools/dev/checks.py", *words], capture_output=True, text=True)


@pytest.mark.parametrize(
    ("words", "parts"),
    [
        ("check-smoke STACKS=all", ["tls-memtest measure --verify --stacks=all"]),
        ("check-smoke", [f"tls-memtest measure --verify --stacks='{THREE}'"]),
        ("check-smoke TRY=check-stacks", ["tls-memtest measure --verify --stacks='null@c", "rustls+ring@0.23.46"]),
        ("check-smoke STACKS=a PREFIX=/opt", ["measure --verify --stacks=a --prefix=/opt"]),
        ("check-python", [f"-m 'not slow and not thorough' --stacks={COMMAS}"]),
        ("check-thorough", [f"-m 'thorough and not slow' --stacks={COMMAS}"]),
        ("check-harnesses STACKS=a", ["-m 'not slow' --stacks=a memtest/tests $(grep "]),
        (
            "check-selfcheck STACKS=a PREFIX=/opt",
            ["selfcheck.py --quick --leave-out STACKS=a PREFIX=/opt --suites=tls13-rsa-aes256 "],
        ),
        ("check-selfcheck TRY=check-stacks", ["selfcheck.py --quick --leave-out  > "]),  # all its suites
        ("check-slow", ["tls-memtest build --campaign check-stacks"]),
        ("check-gate", ["tls-memtest build --campaign mem"]),
        ("check-gate", ["tools/dev/check_gate.py"]),
        ("figures", ["tools/tls-memtest cost ", " --into README.md"]),
    ],
)
def test_print_shows_the_commands_of_a_step_with_its_options(words, parts):
    step, *options = words.split()
    commands = list(checks.STEPS[step].find_commands(checks.parse_options(options)))
    assert any(all(part in command for part in parts) for command in commands)


def test_tables_that_measure_anew_are_not_written_with_the_others():
    page = (ROOT / "docs/reference/profile-totals.md").read_text()
    assert "<!-- begin: tools/dev/profile_totals.py -->" in page
    assert not [one for one in checks.STEPS["figures"].find_commands({}) if "tools/dev/" in one]


def test_a_list_of_stacks_reaches_the_commands_as_one_word():
    done = call("check-smoke", "STACKS=it's a", "--print")
    assert done.stdout == """.venv/bin/python tools/tls-memtest measure --verify --stacks='it'"'"'s a'\n"""


def test_style_names_every_file_in_c_and_every_manifest():
    commands = "\n".join(checks.STEPS["check-style"].find_commands({})).split()
    for pattern in ("memtest/*.c", "memtest/tests/*.h", "harness-c/drivers/*.c", "harness-c/drivers/*.cpp"):
        files = {str(file.relative_to(ROOT)) for file in ROOT.glob(pattern)}
        assert files and files <= set(commands)
    manifests = {str(file.relative_to(ROOT)) for file in ROOT.glob("harness-rust/*/Cargo.toml")}
    assert manifests <= set(commands)


def test_the_makefile_has_a_target_for_each_step_and_no_other():
    lists = re.findall(r"^(?:CHECKS|STACK_CHECKS|HEAVY|OTHERS) := (.*)$", (ROOT / "Makefile").read_text(), re.MULTILINE)
    assert len(lists) == 4
    assert {step for steps in lists for step in steps.split()} == checks.STEPS.keys()


def test_the_first_command_that_fails_ends_a_step_with_its_status_and_is_named(monkeypatch, capfd):
    commands = ["echo first", "exit 3 | true", "echo second"]
    monkeypatch.setitem(checks.STEPS, "check-go", checks.Step("Go tests", lambda _: iter(commands)))
    monkeypatch.setattr(sys, "argv", ["checks.py", "check-go"])
    with pytest.raises(SystemExit) as ended:
        checks.main()
    assert ended.value.code == 3
    said = capfd.readouterr()
    assert said.out.splitlines() == ["check-go: Go tests", "first"]
    assert said.err == "check-go: this failed: exit 3 | true\n"


@pytest.mark.parametrize("words", ["N=4", "STACK=null@c", "word"])
def test_an_option_that_no_step_takes_is_refused(words):
    with pytest.raises(UserError, match=f"unknown option {words.partition('=')[0]};") as refused:
        checks.parse_options([words])
    assert refused.value.status == 2


def test_a_campaign_that_is_not_there_is_one_sentence():
    done = call("check-smoke", "TRY=chek")
    assert (done.returncode, done.stdout.count("Trace"), done.stderr.count("\n")) == (2, 0, 1)
    assert "TRY=chek: memtest/campaigns.toml has no campaign chek" in done.stderr
