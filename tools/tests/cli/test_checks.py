"""What is asked for is checked first, and one sentence says what is wrong."""

import os
import re
import subprocess
from functools import cache
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support import commands
from tlsmem.base.errors import UserError
from tlsmem.base.paths import ROOT
from tlsmem.cli import checks, kinds
from tlsmem.cli.options import OPTIONS
from tlsmem.cli.registry import all_commands
from tlsmem.config import toml_tables

TARGETS = {command.target: command for command in all_commands() if command.target}


def accept(target="mem", **options):
    return commands.parse_target(target, **options)


def refusal(target="mem", **options):
    with pytest.raises(UserError) as refused:
        accept(target, **options)
    assert refused.value.status == 2
    return str(refused.value)


def as_options(*words: str) -> dict[str, str]:
    """NAME=VALUE as it is given to make."""
    return dict(word.split("=", 1) for word in words)


NEW = "name a directory that is there, or a new one"
THREE = "null@c null@rust null@go openssl@3.5.5 rustls+aws-lc@0.23.46 go@1.26.8"


def make(*arguments, **environment):
    return subprocess.run(
        ["make", "-s", *arguments], cwd=ROOT, env=os.environ | environment, capture_output=True, text=True
    )


@pytest.fixture(scope="class")
def definitions_once():
    """Definitions are read and found right a single time, not for each of some thousand values."""
    with pytest.MonkeyPatch.context() as patch:
        known = cache(toml_tables.read_tables)
        for module in (checks, kinds, toml_tables):
            patch.setattr(module, "read_tables", known)
        yield


@pytest.mark.parametrize(
    ("option", "where"),
    [
        ("CAS", "cas is a key of settings in memtest/campaigns.toml, in campaigns of contexts"),
        ("CERTS", "certs is a key of suites in memtest/suites.toml"),
    ],
)
def test_a_key_of_a_file_that_is_no_option_is_named_with_its_file(option, where):
    assert refusal(**{option: "0"}).endswith(f"unknown option {option}; `make help` lists options; {where}")


@pytest.mark.usefixtures("definitions_once")
class TestAnyValue:
    @pytest.mark.thorough
    @given(st.integers(min_value=1, max_value=5 * 10**8))
    def test_every_positive_even_n_is_accepted_and_every_odd_one_refused(self, pairs):
        accept(N=str(2 * pairs))
        assert "even" in refusal(N=str(2 * pairs - 1))

    @pytest.mark.thorough
    @settings(max_examples=200)
    @given(st.sampled_from(TARGETS["mem"].variables()), st.text())
    def test_no_text_makes_the_check_fail_in_another_way(self, option, text):
        try:
            accept(**{option: text.replace("\0", "")})
        except UserError as refused:
            assert str(refused)


@pytest.mark.parametrize("n", ["0", "-2", "3", "2.5", "ten", "", "٢"])
def test_n_must_be_a_positive_even_number(n):
    assert f"N={n}" in refusal(N=n)


@pytest.mark.parametrize(
    "option",
    ["STACKS=openssl@3.5.5 opensl@3.5.5", "SUITES=tls13-rsa-aes25", "ALLOCATOR=jemaloc", "STACK=null@c"],
)
def test_an_unknown_name_gets_the_nearest_and_where_all_are(option, snapshot):
    assert refusal(**as_options(option)) == snapshot


def test_a_name_far_from_all_gets_no_guess(snapshot):
    assert refusal(STACKS="qqqqqqqq") == snapshot


def test_lists_are_separated_by_spaces_or_commas():
    accept(STACKS="null@c,openssl@3.5.5  null@rust")
    assert toml_tables.split_names("a, b c") == ["a", "b", "c"]


def test_the_other_options():
    accept(WINDOW="all", HEAP="0", REPEATS="3", JOBS="2", FRESH="1", OUT="a new one")
    for option, value in {"WINDOW": "0", "HEAP": "some", "REPEATS": "0", "JOBS": "none", "FRESH": "2"}.items():
        assert f"{option}={value}" in refusal(**{option: value})
    assert refusal(OUT=__file__) == f"OUT={__file__} is a file; {NEW}"


def test_a_directory_that_cannot_be_made_or_written_is_refused_before_anything_is_built(tmp_path, monkeypatch):
    (tmp_path / "file").touch()
    place = tmp_path / "file/below/it"
    assert refusal(OUT=str(place)) == f"OUT={place}: {tmp_path / 'file'} is a file; {NEW}"
    monkeypatch.setattr(os, "access", lambda *_: False)  # root may write anywhere
    assert refusal(OUT=str(tmp_path / "new")) == f"OUT={tmp_path / 'new'}: {tmp_path} is not writable"


@pytest.mark.parametrize(
    ("options", "sessions"),
    [({"N": "100", "WINDOW": "51"}, 100), ({"WINDOW": "5001"}, 10_000)],
    ids=["given", "of the campaign"],
)
def test_a_window_beyond_all_pairs_is_refused_before_anything_is_built(options, sessions):
    pairs = f"{sessions // 2} pairs of N={sessions}"
    assert refusal(**options) == f"WINDOW={options['WINDOW']} is more than the {pairs}; give WINDOW=all"
    accept(**options | {"WINDOW": str(sessions // 2)})
    accept(**options | {"WINDOW": "all"})


def test_a_toml_error_names_file_and_line(tmp_path, monkeypatch):
    for kind in "suites", "allocators", "campaigns":
        (tmp_path / f"{kind}.toml").touch()
    (tmp_path / "stacks.toml").write_text("[fine]\nharness = \n")
    monkeypatch.setattr(toml_tables, "DEFINITIONS", tmp_path)
    said = refusal()
    assert "memtest/stacks.toml" in said and "line 2" in said


@pytest.mark.parametrize("place", ["/a place", "/a:place"])
def test_a_clone_that_nothing_could_be_preloaded_from_is_refused(monkeypatch, place):
    accept()
    monkeypatch.setattr(checks, "ROOT", Path(place))
    assert place in refusal() and "move the clone" in refusal()


@pytest.mark.parametrize("name", ["a place", "a:place"])
@pytest.mark.parametrize("target", ["names", "setup", "core", "check-c"])
def test_make_refuses_such_a_clone_whatever_the_target(tmp_path, name, target):
    place = tmp_path / name
    place.mkdir()
    (place / "Makefile").write_bytes((ROOT / "Makefile").read_bytes())
    done = subprocess.run(["make", "-n", target], cwd=place, capture_output=True, text=True)
    assert done.returncode == 2 and done.stdout == ""
    assert f"memtest: {place}: there is a space or a colon in this path" in done.stderr
    assert done.stderr.count("\n") == 1


def test_a_directory_that_no_file_system_can_hold_is_refused():
    assert "File name too long" in refusal(OUT="x" * 300)


def test_the_command_says_one_sentence_and_exits_with_2():
    done = subprocess.run(
        [ROOT / "tools/tls-memtest", "build", "--check", "mem", "N=7"], capture_output=True, text=True
    )
    assert done.returncode == 2 and done.stdout == "" and done.stderr.count("\n") == 1


def test_make_takes_options_from_the_command_line_and_not_from_the_environment():
    assert "N=7" in make("mem", "N=7").stderr
    assert make("-n", "mem", N="7", STACKS="nonsense").returncode == 0


@pytest.mark.parametrize(
    ("target", "options", "command"),
    [
        ("bench", ["STACKS=null@c null@rust", "N=100"], ["bench_meter.py STACKS='null@c null@rust' N='100'"]),
        ("bench", ["WINDOW=3"], ["tls-memtest build --check bench WINDOW='3'"]),
        ("prove", ["N=4"], ["tls-memtest build --check prove N='4'"]),
        ("mem", ["N=4"], ["tls-memtest build --check mem N='4'"]),
        ("mem", ["CLIENT=a", "SERVER=b"], ["tls-memtest build --for mem CLIENT='a' SERVER='b'"]),
        ("mem", ["PREFIX=/opt"], ["tls-memtest measure mem PREFIX='/opt'"]),
        ("measure", ["STACKS=a b"], ["tls-memtest measure time STACKS='a b'"]),
        ("compare", ["A=a", "B=b"], ["tls-memtest diff builds", " A='a'", " B='b'"]),
        ("compare-versions", ["LIB=a"], ["tls-memtest diff releases LIB='a'"]),
        ("live", ["SERVER=nginx"], ["tls-memtest measure live SERVER='nginx'"]),
        ("report", ["OUT=x"], ["tls-memtest show report OUT='x'"]),
        ("stacks", ["STACKS=null@c"], ["tls-memtest stacks STACKS='null@c'"]),
        (
            "profile",
            ["STACK=openssl@path", "PREFIX=/opt"],
            ["tls-memtest heap record", " STACK='openssl@path'", " PREFIX='/opt'"],
        ),
        ("check", ["STACKS=a b"], ["run_checks.py check-style check-layers", "check-selfcheck STACKS='a b'"]),
        ("check-stacks", [], ["run_checks.py check-harnesses check-smoke check-selfcheck ", " TRY=check-stacks"]),
        ("check-stacks", ["STACKS=a b"], ["tls-memtest build --for check-stacks STACKS='a b'"]),
        ("check-smoke", ["STACKS=all", "PREFIX=/opt"], ["checks.py check-smoke", " STACKS='all'", " PREFIX='/opt'"]),
        ("check-kills", [], ["tls-memtest build --packages compare"]),
    ],
)
def test_options_reach_the_commands_that_take_them(target, options, command):
    lines = make("-n", target, *options, takes="leaked").stdout.splitlines()
    assert any(all(part in line for part in command) for line in lines)


@pytest.mark.parametrize("target", [command.target for command in all_commands() if command.target])
def test_an_empty_option_of_make_is_not_given(target):
    (command,) = (one for one in all_commands() if one.target == target)
    empty = make("-n", target, *(f"{name}=" for name in [*command.variables(), "B", "RECORDINGS"]))
    assert empty.returncode == 0 and "tls-memtest build --check" in empty.stdout
    assert empty.stdout == make("-n", target).stdout


def test_an_option_that_a_target_does_not_take_is_refused(snapshot):
    assert refusal("bench-loop", N="4", STACKS="null@c") == snapshot


def test_a_target_without_options_takes_none():
    done = make("-n", "check-kills", "N=4")
    assert done.returncode == 2 and "make check-kills takes no options; leave N out" in done.stderr


def test_make_hands_a_name_of_any_shape_on_as_it_is():
    words = make("-n", "mem", "OUT=it's $HOME of mine", "FRESH=1").stdout.splitlines()[-1]
    assert "OUT='it'\\''s $HOME of mine'" in words and words.split().count("FRESH='1'") == 1


def test_a_bare_make_lists_every_target_and_option():
    said = make().stdout
    for word in (
        "setup",
        "core",
        "mem",
        "check",
        "bench",
        "figures",
        "stacks-clean",
        "clean",
        *TARGETS,
        *(option.example.partition("=")[0] for option in OPTIONS.values() if "=" in option.example),
    ):
        assert f"  {word} " in said


@pytest.mark.parametrize(
    "option",
    [
        "N=-2",
        "HEAP=-1",
        "N=1000000002",
        "N=9999999999999",
        "WINDOW=1000000001",
        "REPEATS=1001",
        "n=10",
        "OUT=-x",
        "OUT=a\nb",
    ],
)
def test_a_sentence_says_what_is_so(option, snapshot):
    assert refusal(**as_options(option)) == snapshot


@pytest.mark.parametrize("option", ["CLIENT=null@c", "SERVER=null@c"])
def test_a_mixed_pair_needs_both_ends(option, snapshot):
    assert refusal(**as_options(option)) == snapshot


@pytest.mark.parametrize("option", ["STACKS=null@c", "ROLES=together", "SERVER=openssl@3.5.5", "KEEP=client"])
def test_ends_that_do_not_go_together(option, snapshot):
    assert refusal(**as_options("CLIENT=null@c", "SERVER=null@rust", option)) == snapshot


def test_a_null_stack_is_one_by_its_table(monkeypatch):
    tables = {
        kind: toml_tables.read_tables(kind)
        for kind in ("stacks", "suites", "allocators", "campaigns", "cpus", "buckets")
    }
    tables["stacks"] |= {"plain@1": {"tls": False}, "null@2": {}}
    for module in (checks, kinds, toml_tables):
        monkeypatch.setattr(module, "read_tables", tables.get)
    accept(CLIENT="plain@1 ", SERVER="null@c")
    assert refusal(CLIENT="plain@1", SERVER="null@2").startswith("a null stack does no TLS")


@pytest.mark.parametrize(
    ("target", "option"),
    [
        ("profile", "STACKS=null@c"),
        ("mem", "STACK=null@c"),
        ("profile", "STACK=null@d"),
        ("profile", "SUITE=a,b"),
        ("profile", "TOOL=dhta"),
    ],
)
def test_the_options_of_a_profile_are_its_own(target, option, snapshot):
    done = make(target, option)
    assert done.returncode == 2 and not done.stdout
    assert done.stderr.splitlines()[0] == snapshot  # make itself says more


def test_a_profile_of_valgrinds_needs_the_marks():
    def builds_marks(*words: str) -> bool:
        lines = make("-n", "profile", "-W", "memtest/marks_valgrind.c", *words).stdout
        return "-o build/core/libmarks.so" in lines

    assert [builds_marks(), builds_marks("TOOL=dhat"), builds_marks("TOOL=massif")] == [False, True, True]


def test_what_is_kept_and_split_processes_do_not_go_together():
    assert refusal(KEEP="server", ROLES="split") == "KEEP=server needs ROLES=together; leave KEEP or ROLES=split out"
    accept(KEEP="server", ROLES="together")
    accept(CLIENT="null@c", SERVER="null@rust", ROLES="split", ENV="both")


@pytest.mark.parametrize("option", ["ROLES", "KEEP", "ENV", "FRESH"])
def test_a_choice_names_what_there_is(option, snapshot):
    assert refusal(**{option: "no"}) == snapshot


def test_the_most_is_accepted():
    accept(N="1000000000", WINDOW="500000000", REPEATS="1000")


@pytest.mark.parametrize(
    "options",
    [
        ["STACKS=all null@c"],
        ["STACKS=openssl@path"],
        ["CLIENT=openssl@3.5.5", "SERVER=openssl@path"],
        ["STACKS=openssl@3.5.5", "PREFIX=/"],
        ["PREFIX=/"],
        ["STACKS=openssl@path", "PREFIX=/dev/null"],
        ["STACKS=openssl@path", "PREFIX=/no/such"],
        ["STACKS=openssl@path", "PREFIX="],
        ["SUITES=all"],
    ],
    ids=" ".join,
)
def test_all_stacks_and_the_prefix_of_one(options, snapshot):
    assert refusal(**as_options(*options)) == snapshot


def test_all_are_all_but_what_needs_a_prefix_that_is_not_given():
    known = list(toml_tables.read_tables("stacks"))
    accept(STACKS="all")
    accept(STACKS="all", PREFIX="/")
    accept(STACKS="openssl@path null@c", PREFIX="/")
    assert toml_tables.expand_stacks(["all"], "/") == known
    assert toml_tables.expand_stacks(["all"]) == [name for name in known if name != "openssl@path"] != known
    assert toml_tables.expand_stacks(["b", "a", "b"]) == ["b", "a"]


@pytest.mark.parametrize(
    ("key", "there_is_none"),
    [("suites", "tls13-rsa-aes256-qp"), ("stacks", "openssl@3.5.6"), ("allocators", "jemaloc")],
)
def test_a_campaign_that_names_what_there_is_not_is_found_first(monkeypatch, key, there_is_none, snapshot):
    tables = {
        kind: toml_tables.read_tables(kind)
        for kind in ("stacks", "suites", "allocators", "campaigns", "cpus", "buckets")
    }
    tables["campaigns"]["law"][key].append(there_is_none)
    for module in (checks, kinds, toml_tables):
        monkeypatch.setattr(module, "read_tables", tables.get)
    assert refusal() == snapshot


def test_make_takes_no_line_break_for_a_command():
    done = make("-n", "mem", "OUT=a\necho second")
    assert done.returncode == 2 and done.stdout == "" and "OUT holds a line break" in done.stderr


def test_a_list_for_a_full_disk_is_a_sentence():
    with open("/dev/full", "w") as full:
        done = subprocess.run(
            [ROOT / "tools/tls-memtest", "help", "make"], stdout=full, stderr=subprocess.PIPE, text=True
        )
    assert (done.returncode, done.stderr) == (1, "memtest: stdout: No space left on device\n")


def test_a_table_may_say_only_in_what_it_differs(tmp_path, monkeypatch):
    text = '[a]\nlike = "b"\nneeds = ["x"]\n[b]\nneeds = ["y"]\ndriver = "d"\n[c]\nlike = "a"\n'
    (tmp_path / "stacks.toml").write_text(text)
    monkeypatch.setattr(toml_tables, "DEFINITIONS", tmp_path)
    assert toml_tables.read_tables("stacks")["c"] == {"needs": ["x"], "driver": "d"}


@pytest.mark.parametrize("text", ['[a]\nlike = "z"\n', '[a]\nlike = "b"\n[b]\nlike = "a"\n'], ids=["none", "itself"])
def test_a_table_like_none_or_itself_is_a_sentence(tmp_path, monkeypatch, text, snapshot):
    (tmp_path / "stacks.toml").write_text(text)
    monkeypatch.setattr(toml_tables, "DEFINITIONS", tmp_path)
    with pytest.raises(ValueError) as refused:
        toml_tables.read_tables("stacks")
    assert str(refused.value) == snapshot


@pytest.mark.parametrize(
    ("words", "named"),
    [
        ("compare-versions", "--library is missing: "),
        ("compare A=openssl@3.5.5", "B is missing: the new build"),
        ("compare B=openssl@3.5.5", "A is missing: the old build"),
        ("live", "--server is missing"),
        ("mem WINDOW=5001", "WINDOW=5001"),
        ("mem OUT=/proc/memtest", "OUT=/proc/memtest"),
        ("compare A=null@c B=null@c OUT=/dev/null/out", "OUT=/dev/null/out"),
    ],
)
def test_what_is_missing_or_cannot_be_is_found_before_set_up(words, named, snapshot):
    target, *options = words.split()
    said = refusal(target, **as_options(*options))
    assert named in said and "\n" not in said
    assert said == snapshot


@pytest.mark.parametrize(
    ("words", "first"),
    [
        ("mem SUITES=tls13", "tls13-rsa-aes256"),
        ("mem STACKS=null", "null@c"),
        ("profile STACK=null", "null@c"),
        ("compare A=null B=openssl@3.5.5", "null@c"),
    ],
)
def test_the_beginning_of_a_name_suggests_those_that_begin_so(words, first):
    target, *options = words.split()
    suggested = refusal(target, **as_options(*options)).partition("did you mean ")[2]
    assert suggested.startswith(first)
    begun = words.rpartition("=")[2] if "A=" not in words else "null"
    names_of_it = suggested.partition("?")[0].replace(" or ", ", ").split(", ")
    assert all(one.startswith(begun) for one in names_of_it)


def test_nothing_is_left_where_it_was_tried_whether_a_directory_can_be_made(tmp_path):
    kinds.check_can_be_written("OUT", str(tmp_path / "a/b"))
    assert list(tmp_path.iterdir()) == []


COUNTS = {
    "mem": {"N": "1e4", "WINDOW": "1e2", "REPEATS": "1e1", "HEAP": "1e0", "JOBS": "2e0", "TICKETS": "0e0"},
    "c1m": {"N": "1M", "WINDOW": "1k", "RESERVE": "4e0"},
    "live": {"SERVER": "nginx", "N": "1e3,3k 10_000", "WINDOW": "1e2,all"},
    "throughput": {"SIZES": "1e3,16K,1MiB", "THREADS": "2e0"},
    "compare": {"A": "openssl@3.4.1", "B": "openssl@3.5.5", "N": "1e3", "RSS": "2e3"},
}


@pytest.mark.parametrize("goal", COUNTS)
def test_make_takes_a_count_in_every_form(goal):
    accept(goal, **COUNTS[goal])


@pytest.mark.parametrize("value", ["1e99", "1.5", "1e0", "e6", "1e-3", "-1e6", "0x10", "1MiB"])
def test_what_is_no_count_is_one_sentence(value):
    said = refusal(N=value)
    assert re.match(r"N=.* number", said) and "\n" not in said
