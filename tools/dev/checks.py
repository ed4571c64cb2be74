#!/usr/bin/env python3
"""Run one step of `make check`, or another check that developers run; its name is a target of the Makefile, too.

  tools/dev/checks.py check-style
  tools/dev/checks.py check-smoke STACKS='null@c openssl@3.5.5'
  tools/dev/checks.py check-smoke TRY=check-stacks --print     print the commands, run nothing

STACKS are the stacks that a step tries, of those that are built; without it those of the campaign that TRY names.
The Makefile builds first what a step runs: `make check-c` builds the tests in C."""

import argparse
import re
import shlex
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from tlsmem.base.errors import UserError
from tlsmem.base.paths import ROOT
from tlsmem.cli.main import run
from tlsmem.config.toml_tables import read_tables, split_names

PYTHON = ".venv/bin/python"
MEMTEST = f"{PYTHON} tools/tls-memtest"
# Without cached bytecode each process of pytest rewrites the asserts of all tests: seconds of each CPU.
PYTEST = f"PYTHONDONTWRITEBYTECODE= {PYTHON} -m pytest -n auto --dist loadfile --no-loadscope-reorder"
# Harnesses that are not optimised at all take ten times as long in their tests.
CARGO = "CARGO_TARGET_DIR=build/cargo CARGO_PROFILE_DEV_OPT_LEVEL=1 cargo"
CORE_C = ("memtest/*.[ch]", "memtest/tests/*.[ch]")
HARNESS_C = ("harness-c/*.[ch]", "harness-c/*/*.[ch]", "harness-c/*/*.cpp")
RUST = "harness-rust/Cargo.toml"
RUSTLS = "harness-rust/rustls-0.23.46/Cargo.toml"
FLAMEGRAPH = "tools/tlsmem/explore/flamegraph/svg/Cargo.toml"
OPTIONS = ("STACKS", "PREFIX", "TRY")

Options = Mapping[str, str]
Commands = Iterator[str]  # of bash


def find_files(*patterns: str) -> list[str]:
    return sorted(str(path.relative_to(ROOT)) for pattern in patterns for path in ROOT.glob(pattern))


def tried_stacks(options: Options) -> list[str]:
    """Return the stacks of STACKS or TRY. Raises UserError, with status 2, for an unknown campaign."""
    if "STACKS" in options:
        return split_names(options["STACKS"])
    name = options.get("TRY", "check")
    if "stacks" not in (campaign := read_tables("campaigns").get(name, {})):
        raise UserError(f"TRY={name}: memtest/campaigns.toml has no campaign {name} with stacks", 2)
    return campaign["stacks"]


def check_style(_: Options) -> Commands:
    every_rustls, core = find_files("harness-rust/rustls-*/Cargo.toml"), find_files(*CORE_C)
    yield f"clang-format --dry-run -Werror {' '.join(core + find_files(*HARNESS_C))}"
    sources = [file for file in core if file.endswith(".c")]
    yield f"gcc -std=gnu11 -Wall -Wextra -Werror -fsyntax-only -O2 -Imemtest {' '.join(sources)}"
    yield "tools/dev/lint_drivers.py"
    yield "tools/dev/check_go.py style"
    for manifest in (RUST, "harness-rust/server/Cargo.toml", *every_rustls, FLAMEGRAPH):
        yield f"cargo fmt --check --manifest-path {manifest}"
    clippy = f"{CARGO} clippy -q --locked --all-targets --manifest-path"
    yield f"{clippy} {RUST} -- -D warnings"
    yield f"{clippy} {RUSTLS} --features aws-lc,jemalloc-rust,loop -- -D warnings"
    for manifest in every_rustls:
        yield f"{clippy} {manifest} --features ring -- -D warnings"
    yield f"{clippy} {FLAMEGRAPH} -- -D warnings"
    yield ".venv/bin/ruff check -q ."
    yield ".venv/bin/ruff format -q --check ."
    yield f"{PYTHON} tools/dev/check_words.py"


def check_layers(_: Options) -> Commands:
    yield "mkdir -p build"
    lint = "PYTHONPATH=tools .venv/bin/lint-imports --no-cache --no-logo"
    yield f"{lint} > build/layers.log || {{ cat build/layers.log; exit 1; }}"


def check_types(_: Options) -> Commands:
    yield "mkdir -p build"
    yield ".venv/bin/mypy > build/types.log || { cat build/types.log; exit 1; }"


def check_c(_: Options) -> Commands:
    for test in ("wire", "threads", "histogram", "session_store"):
        yield f"build/tests/test_{test}"
    yield "LD_PRELOAD=build/core/libheapmeter.so build/tests/test_heapmeter"
    for library in (table["library"] for table in read_tables("allocators").values() if "library" in table):
        yield (
            f"/sbin/ldconfig -p | grep -F {library} > /dev/null || exit 0; "
            f"echo 'check: the heap meter over {library}'; "
            f"LD_PRELOAD='build/core/libheapmeter.so {library}' build/tests/test_heapmeter"
        )


def check_rust(_: Options) -> Commands:
    test = f"{CARGO} test -q --locked --manifest-path"
    yield f"{test} {RUST}"
    yield f"{test} {RUSTLS} --features aws-lc,jemalloc-rust"
    for manifest in find_files("harness-rust/rustls-*/Cargo.toml"):
        if manifest != RUSTLS:
            yield f"{test} {manifest} --features ring"


def check_go(_: Options) -> Commands:
    yield "tools/dev/check_go.py tests"


def check_python(options: Options) -> Commands:
    yield select_tests("not slow and not thorough", options)


def check_thorough(options: Options) -> Commands:
    yield f"{MEMTEST} build --campaign check"
    yield select_tests("thorough and not slow", options)


def select_tests(marks: str, options: Options) -> str:
    stacks = shlex.quote(",".join(tried_stacks(options)))
    return f"{PYTEST} --snapshot-disable-unused -m '{marks}' --stacks={stacks}"


def check_harnesses(options: Options) -> Commands:
    """Yield a run of the tests that run harnesses: of the tools those that ask for one that is built."""
    tests = "memtest/tests $(grep -lrw --include='test_*.py' built_harness tools/tests)"
    yield f"{select_tests('not slow', options)} {tests}"


def snapshots(_: Options) -> Commands:
    yield f"{PYTEST} --snapshot-update $(grep -lrw --include='test_*.py' snapshot tools/tests)"


def check_slow(_: Options) -> Commands:
    yield f"{MEMTEST} build --campaign check-stacks || test $? = 77"  # some that are not to be had
    yield f"{PYTEST} -m slow"


def check_smoke(options: Options) -> Commands:
    prefix = f" --prefix={shlex.quote(options['PREFIX'])}" if "PREFIX" in options else ""
    yield f"{MEMTEST} measure --verify --stacks={shlex.quote(' '.join(tried_stacks(options)))}{prefix}"


def check_selfcheck(options: Options) -> Commands:
    """Yield a run in TLS 1.3 alone for `make check`: valgrind starts six times, not twelve, two seconds each."""
    words = [f"{name}={value}" for name, value in options.items() if name != "TRY"]
    words += ["--suites=tls13-rsa-aes256"] if options.get("TRY", "check") == "check" else []
    yield f"{PYTHON} tools/dev/selfcheck.py --quick --leave-out {shlex.join(words)} > /dev/null"


def check_pages(_: Options) -> Commands:
    yield f"{PYTHON} tools/browser-tests/flamegraph/examples.py build/pages"
    yield f"{PYTHON} tools/browser-tests/report/examples.py build/pages"
    browser = "build/pages-venv/bin/python -m pytest tools/browser-tests"
    for tests in (
        f"{PYTEST} -m page tools/tests",
        *(f"{browser}/{pages}" for pages in ("flamegraph", "report", "site")),
    ):
        # A browser may be slow once: what failed is named, and run again.
        yield (
            f"{tests} || {{ test $? = 1; echo 'check-pages: what failed above is run once more' >&2; "
            f"{tests} -rfp --last-failed --last-failed-no-failures=none; }}"
        )


def check_cluster(_: Options) -> Commands:
    yield "build/cluster-venv/bin/python -m pytest tools/tests/cluster"


def check_notebook(_: Options) -> Commands:
    python = "build/notebook-venv/bin/python"
    yield f"{python} -m pytest tools/tests/dev/test_check_notebook.py"
    yield f"{python} tools/dev/check_notebook.py"


def check_wheel(_: Options) -> Commands:
    yield f"{PYTEST} tools/tests/dev/test_wheel_core.py"
    yield f"{PYTHON} tools/dev/check_wheel.py"


def check_answers(_: Options) -> Commands:
    yield f"{MEMTEST} show report --out build/report.html"
    yield f"{PYTHON} tools/dev/check_answers.py build/report.html"
    yield f"{PYTHON} tools/dev/check_commands.py build/report.html"


def check_bisect(_: Options) -> Commands:
    yield f"{PYTHON} tools/tests/support/planted_history.py build/bisect --search"


def find_script(name: str, stacks: str = "") -> Callable[[Options], Commands]:
    """Return the commands of a script of tools/dev, before it the builds of the stacks that it needs."""

    def find_commands(_: Options) -> Commands:
        if stacks:
            yield f"{MEMTEST} build {stacks} || test $? = 77"  # some that are not to be had
        yield f"{PYTHON} tools/dev/{name}.py"

    return find_commands


def docs(_: Options) -> Commands:
    yield "rm -rf build/docs-extra build/docs"
    yield f"{MEMTEST} show report --format directory --out build/docs-extra/report > /dev/null"
    yield "build/docs-venv/bin/sphinx-build -q -E -W --keep-going -b html -d build/docs-cache docs build/docs"
    yield (
        "! grep -rnoE --include='*.html' --exclude-dir=report '.{0,40}(mailto:|–[a-z]).{0,40}' build/docs || "
        "{ echo 'docs: the pages above show an option with a dash for its --, or a stack as an address of mail: "
        "see docs/conf.py and docs/command_parsers.py' >&2; false; }"
    )
    yield "build/docs-venv/bin/python tools/dev/index_site.py build/docs"
    yield f"{PYTHON} tools/dev/check_site.py build/docs"
    serve = "python3 -m http.server -b 127.0.0.1 -d build/docs"
    yield f"echo 'docs: open build/docs/index.html; for a search of sections: {serve}, then http://127.0.0.1:8000'"


def figures(_: Options) -> Commands:
    """Yield the command beside each table and picture, once, in the order of the pages; but those of tools/dev, which
    measure something anew, with tools that few have."""
    commands: dict[str, None] = {}
    for page in ("README.md", *find_files("docs/*.md", "docs/*/*.md", "docs/*/*/*.md")):
        for line in (ROOT / page).read_text().splitlines():
            if table := re.fullmatch(r"<!-- begin: (?!tools/dev/)(.*) -->", line):
                commands[f"{table[1]} --into {page}"] = None
            elif picture := re.fullmatch(r"Reproduce this figure: `((?!tools/dev/)tools/.*)`", line):
                commands[picture[1]] = None
    for command in commands:
        yield f"set -x; {command}"


class Step(NamedTuple):
    about: str
    find_commands: Callable[[Options], Commands]
    is_alone: bool = False  # it keeps all CPUs busy: `make check` runs nothing beside it


STEPS = {
    "check-style": Step("style", check_style),
    "check-layers": Step("layers", check_layers),
    "check-types": Step("types", check_types),
    "check-c": Step("C tests", check_c),
    "check-rust": Step("Rust tests", check_rust),
    "check-go": Step("Go tests", check_go),
    "check-python": Step("Python tests", check_python),
    "check-harnesses": Step("tests of harnesses", check_harnesses, is_alone=True),
    "check-smoke": Step("every stack in every suite, 2 sessions", check_smoke),
    "check-selfcheck": Step("the heap meter against heaptrack, massif and DHAT", check_selfcheck),
    "check-thorough": Step("thorough Python tests", check_thorough),
    "check-slow": Step("slow Python tests", check_slow),
    "check-pages": Step("pages in a browser", check_pages),
    "check-cluster": Step("a campaign on a cluster", check_cluster),
    "check-notebook": Step("notebooks and their outputs", check_notebook),
    "check-wheel": Step("the wheel's answers and the clone's", check_wheel),
    "wheel": Step("the wheel", find_script("build_wheel")),
    "check-answers": Step("answers and commands of a report", check_answers),
    "check-bare": Step("make check in a bare Debian 12", find_script("check_bare")),
    "check-bisect": Step("git bisect finds a planted commit", check_bisect),
    "check-census": Step("the census of real programs", find_script("check_census")),
    "check-ci-page": Step("the steps of the CI page", find_script("check_ci_page", "openssl@3.5.5")),
    "check-gate": Step("budgets and unchanged builds", find_script("check_gate", "--campaign mem")),
    "check-kills": Step("what killed comparisons leave", find_script("check_kills")),
    "check-live": Step("live heap of servers by massif", find_script("check_live")),
    "check-patches": Step("comparisons and planted patches", find_script("check_patches")),
    "check-prometheus": Step("Prometheus and the dashboard", find_script("check_prometheus")),
    "soak": Step("1,000 waves of sessions", find_script("soak", "null@c null@rust openssl@3.5.5")),
    "docs": Step("the documentation as a site", docs),
    "figures": Step("tables and pictures of the pages", figures),
    "snapshots": Step("what tests expect to read", snapshots),
}


def parse_options(words: list[str]) -> Options:
    """Return the values of NAME=VALUE by name. Raises UserError, with status 2, for a name that no step takes."""
    options = dict(word.partition("=")[::2] for word in words)
    if unknown := [name for name in options if name not in OPTIONS]:
        raise UserError(f"unknown option {unknown[0]}; the steps of `make check` take {' and '.join(OPTIONS[:2])}", 2)
    return options


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("step", choices=STEPS, metavar="STEP", help=", ".join(STEPS))
    parser.add_argument("options", nargs="*", metavar="OPTION=VALUE")
    parser.add_argument("--print", action="store_true", help="print the commands of the step and run none")
    given = parser.parse_intermixed_args()
    step, options = STEPS[given.step], parse_options(given.options)
    if given.print:
        print(*step.find_commands(options), sep="\n")
        return
    print(f"{given.step}: {step.about}", flush=True)
    for command in step.find_commands(options):
        if status := subprocess.run(["bash", "-euo", "pipefail", "-c", command], cwd=ROOT).returncode:
            print(f"{given.step}: this failed: {command[:400]}", file=sys.stderr)
            sys.exit(status)


if __name__ == "__main__":
    run(main)
