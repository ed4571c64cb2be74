"""What is missing on a system is named in one line that can be pasted."""

import os
import subprocess
from pathlib import Path

import pytest

from tests.support import commands
from tlsmem.build import system_packages
from tlsmem.cli.dispatch import run_words


@pytest.fixture
def person(monkeypatch):
    """Not root, so that nothing is installed."""
    monkeypatch.setattr(os, "geteuid", lambda: 1000)


@pytest.fixture
def program(tmp_path, monkeypatch):
    """Puts a program before all others: program(name, what it prints)."""
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")

    def write(name, said):
        (tmp_path / name).write_text(f"#!/bin/sh\necho '{said}'\n")
        (tmp_path / name).chmod(0o755)

    return write


def refusal(call, *arguments):
    with pytest.raises(ValueError) as refused:
        call(*arguments)
    return str(refused.value)


def test_what_is_missing_is_one_line_to_paste(person):
    said = refusal(system_packages.require_packages, ["gcc", "no-such-package", "nor-this"])
    assert said.endswith("sudo apt-get install -y no-such-package nor-this")


def test_what_is_there_in_whatever_way_is_not_asked_for(person, program):
    program("no-such-package", "")
    system_packages.require_packages(["no-such-package", "libc6-dev", "python3-venv"])


def test_a_header_and_a_library_are_found_by_name():
    assert system_packages.has_header("stdio.h") and not system_packages.has_header("no-such-header.h")
    assert system_packages.has_library("libc.so.6") and not system_packages.has_library("libnone.so.6")


def test_an_allocator_needs_its_package_and_the_systems_none():
    assert (
        system_packages.list_allocator_packages("jemalloc") == ["libjemalloc2"]
        and system_packages.list_allocator_packages("system") == []
    )


@pytest.mark.parametrize("said", ["cargo 1.84.1 (abc 2025-01-01)", "cargo 0.66.0", "nonsense"])
def test_an_old_cargo_is_refused_with_the_oldest_that_works(program, said):
    program("cargo", said)
    assert said in refusal(system_packages.require_cargo) and "1.85" in refusal(system_packages.require_cargo)


@pytest.mark.parametrize("said", ["cargo 1.85.0", "cargo 2.0.0-nightly"])
def test_that_one_and_later_ones_will_do(program, said):
    program("cargo", said)
    system_packages.require_cargo()


def test_a_cargo_that_cannot_run_is_not_called_old(tmp_path, monkeypatch):
    cargo = tmp_path / "cargo"
    cargo.write_text("#!/bin/sh\necho 'error: rustup could not choose a version of cargo' >&2\nexit 1\n")
    monkeypatch.setenv("PATH", str(tmp_path))
    cargo.chmod(0o755)
    said = refusal(system_packages.require_cargo)
    assert said.startswith("cargo cannot be run: cargo --version: error: rustup could not choose") and "old" not in said
    cargo.write_text("#!/no/such/interpreter\n")
    assert "too old" not in refusal(system_packages.require_cargo)


def test_no_cargo_at_all(tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    assert "not installed" in refusal(system_packages.require_cargo)


@pytest.mark.parametrize(
    ("stacks", "asks"),
    [
        ("openssl@system null@c null@go", False),
        ("mbedtls@3.6.6", False),  # a source package of Debian's
        ("openssl@3.5.5", True),
        ("null@c null@rust", True),
    ],
)
def test_cargo_is_asked_for_by_rust_and_by_crates_alone(tmp_path, monkeypatch, stacks, asks):
    monkeypatch.setenv("PATH", str(tmp_path))
    if asks:
        assert "not installed" in refusal(system_packages.require_cargo_for, stacks.split())
    else:
        system_packages.require_cargo_for(stacks.split())


@pytest.mark.thorough
@pytest.mark.parametrize(("options", "asks"), [(["STACKS=openssl@system"], False), ([], True)])
def test_a_system_without_cargo_measures_what_needs_none(tmp_path, options, asks):
    for program in (file for folder in os.get_exec_path()[::-1] for file in Path(folder).glob("*")):
        (tmp_path / program.name).unlink(missing_ok=True)
        if program.name not in ("cargo", "apt-get"):
            (tmp_path / program.name).symlink_to(program)
    done = run("--check", "mem", *options, PATH=str(tmp_path))
    assert (done.returncode, "cargo is not installed" in done.stderr) == (asks, asks)


@pytest.mark.parametrize("lacking", ["clippy", "fmt"])
def test_the_linters_of_cargo_are_asked_for_in_one_line(program, tmp_path, lacking):
    program("cargo", "cargo 1.85.0")
    system_packages.require_linters()
    (tmp_path / "cargo").write_text(f"#!/bin/sh\ntest $1 != {lacking}\n")
    assert refusal(system_packages.require_linters).endswith("rustup component add clippy rustfmt")


def run(*arguments, **variables):
    command = [*commands.command_line("build"), *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False, env=os.environ | variables)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--packages"], "PURPOSE is missing"),
        (["--packages", "nosuch"], "nosuch must be mem, timed, "),
        (["--check", "mem", "ALLOCATOR=jemaloc"], "ALLOCATOR: memtest/allocators.toml has no allocator jemaloc; did"),
        (["--check", "mem", "STACKS=null@d"], "did you mean null@c"),
    ],
)
def test_what_cannot_be_is_a_sentence(arguments, said):
    done = run(*arguments)
    assert done.returncode == 2 and said in done.stderr and "Traceback" not in done.stderr


@pytest.mark.parametrize(
    ("tool", "brings"),
    [("sites", []), ("heaptrack", ["heaptrack"]), ("massif", ["valgrind"]), ("dhat", ["valgrind"])],
)
def test_a_profile_needs_its_own_tool_alone(monkeypatch, tool, brings):
    asked = []
    monkeypatch.setattr(system_packages, "require_packages", asked.extend)
    run_words(["build", "--check", "profile", "STACK=openssl@system", f"TOOL={tool}"])
    assert asked == [*system_packages.BUILD_PACKAGES, *brings]


@pytest.mark.parametrize("entry", [{"package": "p"}, {"library": "l"}, {"package": 1, "library": "l"}])
def test_half_an_allocator_is_a_sentence(monkeypatch, entry):
    monkeypatch.setattr(system_packages.toml_tables, "read_tables", {"allocators": {"mine": entry}}.get)
    said = "memtest/allocators.toml: [mine]: package and library come together, as text"
    assert refusal(system_packages.list_allocator_packages, "mine") == said


def test_the_tests_need_every_allocator(monkeypatch):
    asked = []
    monkeypatch.setattr(system_packages, "require_packages", asked.extend)
    monkeypatch.setattr(system_packages, "require_cargo", lambda: None)
    monkeypatch.setattr(system_packages, "require_linters", lambda: None)
    run_words(["build", "--check", "check"])
    assert asked[-3:] == ["libjemalloc2", "libmimalloc2.0", "libtcmalloc-minimal4"]
