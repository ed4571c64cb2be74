"""The command on files that are read as any program's and as a recording: what it shows, where it goes, how it ends."""

import csv
import gzip
import io
import json
import os
import re
import shlex
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support import commands, forked_command, synthetic
from tests.support.portable_text import drop_table_rows
from tests.tables.test_call_sites import frame
from tlsmem.base import phase_names
from tlsmem.base.paths import ROOT
from tlsmem.build.commands import BuildFailed
from tlsmem.cli.dispatch import run_words
from tlsmem.explore import profile_output
from tlsmem.explore.flamegraph import write_flamegraph
from tlsmem.profile import profile_metadata
from tlsmem.profile.profile_metadata import ProfileRecord
from tlsmem.schema.records import RecordLine

COMMAND = ROOT / "tools/tls-memtest", "heap", "read"
MASSIF = """desc: --peak-inaccuracy=0
cmd: ./prog --serve
time_unit: B
#-----------
snapshot=0
#-----------
time=0
mem_heap_B=0
mem_heap_extra_B=0
mem_stacks_B=0
heap_tree=empty
#-----------
snapshot=1
#-----------
time=1000
mem_heap_B=1000
mem_heap_extra_B=8
mem_stacks_B=0
heap_tree=detailed
n2: 1000 (heap allocation functions) malloc/new/new[], --alloc-fns, etc.
 n1: 600 0x1001: table_new (table.c:10)
  n0: 600 0x1002: main (main.c:1)
 n1: 400 0x1003: read_file (io.c:20)
  n0: 400 0x1002: main (main.c:1)
#-----------
snapshot=2
#-----------
time=3000
mem_heap_B=3000
mem_heap_extra_B=8
mem_stacks_B=0
heap_tree=peak
n1: 3000 (heap allocation functions) malloc/new/new[], --alloc-fns, etc.
 n2: 3000 0x1001: table_new (table.c:10)
  n0: 2000 0x1002: main (main.c:1)
  n0: 1000 0x1004: grow (table.c:30)
"""


FRAMES = [frame("CRYPTO_malloc", 1), frame("SSL_new", 2), frame("BIO_new", 5), frame("client_session_new", 3)]
FRAMES += [frame("server_session_new", 4)]
STACKS = {"server": [0, 1, 4], "server, BIO": [2, 4], "client": [2, 3]}


def sites_run(*sizes: int) -> bytes:
    """A recording of 100 sessions: of the one pair whose stacks are known, a block of each in every phase."""
    made = synthetic.record("openssl@3.5.5", "tls13-rsa-aes256", 100, "sites").model_dump(by_alias=True)
    live = [
        {"role": name[:6], "since": "sessions", "stack": stack, "blocks": 1, "bytes": size}
        for stack, (name, size) in enumerate(zip(STACKS, sizes, strict=True))
    ]
    for phase in made["phases"]:
        phase["sites"]["live"] = live if phase["phase"] != "contexts" else []
    return RecordLine.model_validate(made | {"sites": {"frames": FRAMES, "stacks": [*STACKS.values()]}}).to_json_line()


def inspect(*arguments: object, cwd: Path | None = None) -> subprocess.CompletedProcess[str]:
    return forked_command.run([sys.executable, *COMMAND, *map(str, arguments)], cwd=cwd)


def refused(status: int, *arguments: object) -> str:
    """The one sentence with which it ends."""
    done = inspect(*arguments)
    assert (done.returncode, done.stdout) == (status, ""), done.stderr
    assert done.stderr.startswith("memtest: ") and done.stderr.count("\n") == 1
    return done.stderr.removeprefix("memtest: ").rstrip()


@pytest.fixture
def massif(tmp_path: Path) -> Path:
    (tmp_path / "massif.out.1").write_text(MASSIF)
    return tmp_path / "massif.out.1"


@pytest.fixture
def recording(tmp_path: Path) -> Path:
    (tmp_path / "tls.jsonl").write_bytes(sites_run(100, 50, 9))
    return tmp_path / "tls.jsonl"


def tables(*arguments: object) -> dict[str, list[dict]]:
    done = inspect(*arguments, "--json")
    assert (done.returncode, done.stderr) == (0, "")
    return {table["name"]: table["rows"] for table in json.loads(done.stdout)["tables"]}


def test_any_program_s_profile(massif, snapshot):
    done = inspect(massif.name, cwd=massif.parent)
    assert (done.returncode, done.stderr) == (0, "") and "\x1b" not in done.stdout
    assert done.stdout == snapshot
    found = tables(massif)["sites"]
    assert [(row["bytes"], row["owner"]) for row in found] == [(2000, "harness"), (1000, "harness")]


@pytest.mark.thorough
def test_a_recording(recording):
    found = tables(recording)
    assert list(found) == ["summary", "by-phase", "sites"]
    assert "**openssl@3.5.5, tls13-rsa-aes256, N = 100, by a sites run**" in inspect(recording).stdout
    assert "A session's bytes by bucket: openssl@3.5.5**" in inspect(recording, "--buckets").stdout
    assert {row["moment"]: row["server"] for row in found["by-phase"]}["idle"] == {"bytes": 150, "blocks": 2}
    (site,) = tables(recording, "--phase", "idle", "--role", "server", "--filter", "SSL_new")["sites"]
    assert (site["bytes"], site["blocks"], site["callers"][:7]) == (100, 1, "SSL_new")


@pytest.mark.thorough
def test_buckets_are_given_with_why():
    stack = ROOT / "data/2026-11-21-amd-epyc-2/openssl@3.5.5.jsonl"
    told = inspect(stack, "--suite", "tls13-rsa-aes256", "--buckets").stdout
    for role in ("client", "server"):
        at = rf"a {role} session as one more of many at the peak \(`[\w ]+`\)"
        assert re.search(rf"^- \*\*[a-z0-9, -]+\*\*, [0-9,]+ B of {at}: [A-Z]", told, re.M)


@pytest.mark.thorough
def test_notes_after_a_table_are_a_list_as_in_a_page(recording, tmp_path):
    (tmp_path / "new.jsonl").write_bytes(sites_run(160, 0, 9))
    page = tmp_path / "page.md"
    stack = ROOT / "data/2026-11-21-amd-epyc-2/openssl@3.5.5.jsonl"
    buckets = [stack, "--suite", "tls13-rsa-aes256", "--buckets"]
    for words in (buckets, ["--diff", recording, tmp_path / "new.jsonl"]):
        told = inspect(*words).stdout
        line = " ".join(map(str, words))
        page.write_text(f"<!-- begin: tools/tls-memtest heap read {line} -->\n<!-- end -->\n")
        assert inspect(*words, "--into", page).returncode == 0
        assert page.read_text().split("-->\n", 1)[1].removesuffix("<!-- end -->\n").strip() == told.strip()
        assert re.search(r"\|\n\n(?:[^|-].*\n\n)*- ", told)


@pytest.mark.thorough
def test_notes_on_a_terminal_are_plain_words_in_its_width():
    stack = ROOT / "data/2026-11-21-amd-epyc-2/openssl@3.5.5.jsonl"
    command = (
        f"stty cols 90; {shlex.join(commands.command_line('heap read'))} {stack} --suite tls13-rsa-aes256 --buckets"
    )
    shown = subprocess.run(["script", "-qec", command, "/dev/null"], capture_output=True, text=True, check=False).stdout
    lines = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", shown).splitlines()
    assert "of a client session as one more of many at the peak" in " ".join(lines) and "**" not in shown
    (at,) = [at for at, line in enumerate(lines) if line.startswith("connection structure, ") and "client" in line]
    assert len(lines[at]) > 60 and max(map(len, lines)) <= 90


@pytest.mark.parametrize(
    ("view", "words"),
    [
        *(("buckets", one) for one in ("--phase idle", "--role server", "--filter x", "--by bytes", "--top 2")),
        *(("sizes", one) for one in ("--by bytes", "--top 2")),
    ],
)
def test_what_a_view_of_everything_would_ignore_is_refused(recording, view, words, snapshot):
    assert refused(2, recording, f"--{view}", *words.split()) == snapshot


@pytest.mark.thorough
def test_a_profile_of_another_stack_or_suite_is_refused(kept, massif, snapshot):
    assert inspect(massif, "--stack", "null@c", "--suite", "none").returncode == 0
    for words in (["--stack", "foo"], ["--suite", "x"]):
        assert refused(2, massif, *words) == snapshot(name=words[0])
    kept[1].unlink()
    assert refused(2, massif, "--stack", "foo") == snapshot(name="without its record")


@pytest.mark.parametrize("phase", ["sessions", "payload", "reply"])  # of those with other names, what the run has
def test_a_phase_may_be_named_as_pages_do(recording, phase):
    said = phase_names.READABLE_NAMES[phase]
    assert inspect(recording, "--phase", said).stdout == inspect(recording, "--phase", phase).stdout != ""


def test_a_choice_shows_its_table_alone(massif):
    assert list(tables(massif, "--phase", "snapshot 1")) == ["sites"]
    assert list(tables(massif, "--callers")) == ["callers"]
    assert list(tables(massif, "--callers", "--by", "bytes")) == ["sites", "callers"]


def test_the_tree_is_plain_text_in_a_pipe(massif, snapshot):
    first, _, tree = inspect(massif, "--callers").stdout.partition("\n\n")
    assert first == "TLS holds 0 B of 3,000 B at the peak."
    assert re.findall(r"[\d,]+(?= B)", tree) == ["3,000", "2,000", "1,000"]
    assert tree == snapshot


def test_csv_holds_whole_names(massif):
    rows = list(csv.DictReader(io.StringIO(inspect(massif, "--by", "bytes", "--format", "csv").stdout)))
    assert [row["bytes"] for row in rows] == ["2000", "1000"] and rows[0]["callers"].endswith("main (main.c:1)")


@pytest.mark.thorough
def test_no_form_moves_a_cursor(tmp_path):
    file = tmp_path / "massif.out.1"
    file.write_text(MASSIF.replace("table_new", "table\x1b[2Jnew\x9b").replace("./prog", "./prog\x1b"))
    for options in (["--format", "csv"], ["--json"], [], ["--folded"], ["--callers"]):
        done = inspect(file, *options)
        assert (done.returncode, done.stderr) == (0, "") and not {"\x1b", "\x9b"} & {*done.stdout}, options


def test_files_are_written_whole(massif, tmp_path):
    done = inspect(massif, "--folded", "a", "--speedscope", "b", cwd=tmp_path)
    assert (done.returncode, done.stdout) == (0, ""), done.stderr
    assert (tmp_path / "a").read_text() == "grow;table_new 1000\nmain;table_new 2000\n"
    assert [one["endValue"] for one in json.loads((tmp_path / "b").read_text())["profiles"]] == [1000, 3000]
    assert inspect(massif, "--folded").stdout == (tmp_path / "a").read_text()
    assert not [file for file in tmp_path.iterdir() if file.name.startswith(".")]


def test_a_link_and_a_device_stay_what_they_are(massif, tmp_path):
    (tmp_path / "link").symlink_to(tmp_path / "target")
    os.mkfifo(tmp_path / "pipe")
    reader = os.open(tmp_path / "pipe", os.O_RDONLY | os.O_NONBLOCK)
    assert [inspect(massif, "--folded", tmp_path / name).returncode for name in ("link", "pipe")] == [0, 0]
    assert os.read(reader, 4096) == (tmp_path / "target").read_bytes()
    os.close(reader)
    assert (tmp_path / "link").is_symlink() and (tmp_path / "pipe").is_fifo()


@pytest.mark.thorough
def test_a_file_that_cannot_be_written_is_a_sentence(massif, tmp_path):
    for name in ("no/such/folder/f", "."):
        assert refused(1, massif, "--folded", tmp_path / name).startswith(str(tmp_path / name))
    with open("/dev/full", "w") as full:
        command = [sys.executable, *COMMAND, massif, "--callers"]
        done = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True, check=False)
    assert (done.returncode, done.stderr) == (1, "memtest: stdout: No space left on device\n")


@pytest.mark.thorough
def test_a_reader_that_has_seen_enough_is_no_error(massif):
    reader, writer = os.pipe()
    os.close(reader)
    command = [sys.executable, *COMMAND, massif, "--folded"]
    done = subprocess.run(command, stdout=writer, stderr=subprocess.PIPE, check=False)
    os.close(writer)
    assert (done.returncode, done.stderr) == (-signal.SIGPIPE, b"")


def test_a_profile_is_never_written_over(massif, tmp_path, snapshot):
    (tmp_path / "link").symlink_to(massif)
    names = (massif, tmp_path / "link", f"{tmp_path}/./massif.out.1")
    assert [refused(2, massif, "--folded", name) for name in names] == snapshot(name="of other names")
    assert refused(2, "--folded", massif) == snapshot(name="taken for the output")
    assert massif.read_text() == MASSIF


def test_nor_is_another_profile_or_a_recording(massif, recording, tmp_path, snapshot):
    whole = recording.read_bytes()
    (tmp_path / "other.gz").write_bytes(gzip.compress(MASSIF.encode()))
    names = (recording, tmp_path / "other.gz")
    assert [refused(2, massif, "--speedscope", name) for name in names] == snapshot
    assert recording.read_bytes() == whole


@pytest.fixture
def kept(massif) -> tuple[Path, Path]:
    """A profile that nothing but its record tells to be one, and that record."""
    run = synthetic.record("null@c", "none", 20)
    record = massif.with_suffix(".json")
    named = {"file": massif.name, "file_sha256": profile_metadata.sha256(massif)}
    made = ProfileRecord(tool="massif", tool_version="1", command=["x"], **named, run=run)
    record.write_text(made.to_json())
    return massif, record


@pytest.mark.parametrize("what", [0, 1], ids=["profile", "record"])
def test_nor_is_its_record_or_what_a_record_is_of(kept, tmp_path, monkeypatch, what, snapshot):
    # Their beginning told already.
    monkeypatch.setattr(profile_output.open_profile, "is_profile_or_recording", lambda file: False)
    os.link(kept[what], tmp_path / "hard")
    for source in kept:
        for name in (kept[what], tmp_path / "hard"):
            with pytest.raises(ValueError) as error:
                profile_output.check_outputs([str(name)], [str(source)])
            assert str(error.value) == snapshot(name=name.name)


def test_two_results_never_go_to_one_file(massif, tmp_path, snapshot):
    (tmp_path / "p").touch()
    os.link(tmp_path / "p", tmp_path / "hard")
    for one, other in [("q", "./q"), ("p", "hard"), ("-", "-")]:
        files = [name if name == "-" else f"{tmp_path}/{name}" for name in (one, other)]
        with pytest.raises(ValueError) as error:
            profile_output.check_outputs(files, [str(massif)])
        assert str(error.value) == snapshot(name=f"{one} and {other}")
    assert refused(2, massif, "--folded", "q", "--speedscope", "q") == snapshot(name="options")
    assert inspect(massif, "--folded", "/dev/null", "--speedscope", "/dev/null").returncode == 0


@pytest.mark.parametrize(
    ("arguments", "status"),
    [
        ("--phase 'snapshot 2'", 2),
        ("--filter nosuch", 1),
        ("--role server --filter main", 1),
        ("--by blocks", 2),
        ("--by temporary", 2),
        ("--by temporary --phase peak", 2),
        ("--buckets", 2),
        ("--sizes", 2),
        ("--flamegraph x.png", 2),
        ("--force", 2),
        ("--phase ''", 2),
        ("--filter ''", 2),
        ("--flamegraph ''", 2),
        ("--speedscope ''", 2),
        ("--diff OLD NEW", 2),
        ("--diff 'snapshot 1' peak --phase peak", 2),
        ("--diff 'snapshot 1' peak --force", 2),
        ("--diff peak peak", 2),
    ],
)
def test_what_cannot_be_is_a_sentence(massif, arguments, status, snapshot):
    assert refused(status, massif, *shlex.split(arguments)) == snapshot


@pytest.mark.thorough
def test_two_moments_of_one_profile(massif, recording):
    """Counted by hand: table_new 600 to 2,000 B by main and 1,000 B by grow, and read_file 400 to 0 B."""
    sites = tables(massif, "--diff", "snapshot 1", "peak")["diff-sites"]
    assert sorted((row["old_bytes"], row["new_bytes"]) for row in sites) == [(0, 1000), (400, 0), (600, 2000)]
    told = inspect(massif, "--diff", "snapshot 1", "peak").stdout
    assert told.startswith(
        "NEW holds 2,000 B (200.0 %) more than OLD: OLD 1,000 B, NEW 3,000 B. None of it is TLS.\n\n"
    )
    # By the name that pages have for a phase: one pair's blocks, which no session had at `contexts`.
    found = tables(recording, "--diff", "contexts", "created")["diff"]
    assert {row["part"]: row["more_bytes"] for row in found} == {"client": 9, "server": 150}
    assert "call stacks at peaks are not recorded" in refused(2, recording, "--diff", "peak of idle", "idle")
    assert "no moment OLD" in refused(2, recording, "--diff", "OLD", "idle")


def test_how_much_of_a_diff_is_tls(recording, tmp_path):
    (tmp_path / "new.jsonl").write_bytes(sites_run(160, 0, 9))
    (sessions,) = [
        row
        for row in tables("--diff", recording, tmp_path / "new.jsonl", "--tls")["diff-tls"]
        if row["owner"] == "server"
    ]
    assert (sessions["what"], sessions["more_bytes"]) == ("TLS sessions", 10)
    told = inspect("--diff", recording, tmp_path / "new.jsonl", "--tls").stdout
    assert told.startswith(
        "NEW holds as much per client session, 10 B (6.7 %) more per server session once sessions are established."
    )


def test_a_filter_that_is_no_regular_expression_is_a_sentence(massif):
    said = refused(2, massif, "--filter", "(")
    assert said.startswith("--filter (: invalid regular expression")  # why: Python's words


@pytest.mark.thorough
def test_without_a_profile(tmp_path, snapshot):
    assert refused(2) == snapshot(name="nothing named")
    assert "nosuch" in refused(2, tmp_path / "nosuch")
    assert refused(2, "--diff", "OLD", "NEW", "--by", "bytes") == snapshot(name="two")
    for count in ("0", "-1", "x", "1.5", "²", "99999999999999"):
        done = inspect("x", "--top", count)
        assert (done.returncode, done.stderr.splitlines()[-1]) == (2, snapshot(name=f"--top {count}"))
    done = inspect("x", "--top", "9" * 5000)
    assert done.returncode == 2 and "is too large" in done.stderr


def test_sessions_that_the_record_does_not_have_are_refused(recording, massif, snapshot):
    assert refused(2, recording, "--sessions", 50) == snapshot
    assert tables(massif, "--sessions", 3, "--by", "bytes")["sites"][1]["per_session"] == {"bytes": 1000 / 3}


def test_what_is_torn_is_shown_and_told(massif, snapshot):
    massif.write_text(MASSIF[: MASSIF.rindex("mem_heap_B")])
    done = inspect(massif, "--folded")
    assert (done.returncode, done.stdout) == (1, "main;read_file 400\nmain;table_new 600\n")
    assert done.stderr == snapshot


def test_a_name_or_a_command_does_not_tear_a_profile(tmp_path, snapshot):
    """What is missing is said by the reader of the file, not by its words."""
    file = tmp_path / "massif.out.1"
    file.write_text(re.sub(r"table_new \(.*\)", "??? (in /opt/damaged by hand.so)", MASSIF))
    done = inspect(file, "--folded")
    assert (done.returncode, done.stderr) == (0, snapshot)


@pytest.mark.thorough
def test_a_directory_is_a_recording(recording, tmp_path, snapshot):
    assert tables(tmp_path) == tables(recording)
    (tmp_path / "openssl@3.5.5.jsonl").write_bytes(recording.read_bytes())
    assert refused(2, tmp_path) == snapshot(name="several stacks")
    assert refused(2, tmp_path, "--stack", "no") == snapshot(name="another stack")
    found = tables(tmp_path, "--stack", "openssl@3.5.5", "--suite", "tls13-rsa-aes256")
    assert found["by-phase"] == tables(recording)["by-phase"]
    (tmp_path / "empty").mkdir()
    assert refused(2, tmp_path / "empty") == snapshot(name="empty")


@pytest.mark.thorough
def test_tables_stand_in_a_page_where_the_command_does(massif, tmp_path, snapshot):
    page, other = tmp_path / "page.md", tmp_path / "other"
    other.write_text(MASSIF.replace("table.c:10", "table.c:12"))
    commands = [f"{massif} --callers", f"--diff {tmp_path}/./massif.out.1 {other} --top 4", f"{massif} --filter 'a|b'"]
    blocks = [f"<!-- begin: tools/tls-memtest heap read {one} -->\nold\n<!-- end -->\n" for one in commands]
    page.write_text("before\n" + "".join(blocks) + "after\n")
    for words in ([massif, "--callers"], ["--diff", massif, other, "--top", 4], [massif, "--filter", "a|b"]):
        done = inspect(*words, "--into", page)
        assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    assert page.read_text() == snapshot(name="page")
    assert "old" not in page.read_text().splitlines() and page.read_text().endswith("after\n")
    assert refused(2, massif, "--into", page) == snapshot(name="no place")
    assert refused(2, massif, "--into", page, "--folded", "q") == snapshot(name="two outputs")
    assert refused(2, massif, "--into", massif) == snapshot(name="profile")


def test_two_programs_are_compared_by_force_alone(massif, tmp_path, snapshot):
    (tmp_path / "other").write_text(MASSIF.replace("./prog", "/opt/nginx").replace("main", "ngx_main"))
    assert refused(2, "--diff", massif, tmp_path / "other") == snapshot(name="refused")
    forced = inspect("--diff", massif, tmp_path / "other", "--force").stdout
    (tmp_path / "third").write_text(re.sub("table_new|main|grow|read_file", "f", MASSIF))
    unlike = inspect("--diff", massif, tmp_path / "third").stdout
    assert drop_table_rows(forced) == snapshot(name="forced")
    assert drop_table_rows(unlike) == snapshot(name="no call stack in both")
    assert [text.count("share no call stack") for text in (forced, unlike)] == [0, 1]


@pytest.mark.thorough
def test_two_profiles_are_compared(recording, tmp_path, snapshot):
    (tmp_path / "new.jsonl").write_bytes(sites_run(160, 0, 9))
    done = inspect("--diff", recording, tmp_path / "new.jsonl", "--phase", "idle", "--role", "server")
    assert (done.returncode, done.stderr) == (0, "") and done.stdout == snapshot(name="diff")
    folded = inspect("--diff", recording, tmp_path / "new.jsonl", "--phase", "idle", "--folded").stdout
    assert sorted(line.rsplit(" ", 2)[1:] for line in folded.splitlines()) == [["100", "160"], ["50", "0"], ["9", "9"]]
    for status, words in ((1, "--phase idle --filter nosuch"), (1, "--phase idle --role harness"), (2, "--phase peak")):
        refusal = refused(status, "--diff", recording, tmp_path / "new.jsonl", *words.split())
        assert refusal == snapshot(name=words)


@pytest.mark.thorough
def test_on_a_terminal_nothing_is_wider_than_it(recording):
    read = f"{shlex.join(commands.command_line('heap read'))} {recording}"
    command = f"stty cols 100; {read}; {read} --callers"
    shown = subprocess.run(["script", "-qec", command, "/dev/null"], capture_output=True, text=True, check=False).stdout
    lines = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", shown).splitlines()
    assert any("A session by phase" in line for line in lines) and "\x1b[1m" in shown
    assert max(map(len, lines)) <= 100


def test_pictures_are_of_what_was_chosen(massif, monkeypatch):
    """How they are drawn, and by what, is another test's."""
    asked = []

    def write(profile, file, **chosen):
        asked.append((profile.tool, file, chosen))
        raise BuildFailed("npm: not installed")

    monkeypatch.setattr(write_flamegraph, "write", write)
    words = [str(massif), "--flamegraph", "x.svg", "--filter", "grow", "--phase", "peak", "--role", "harness"]
    with pytest.raises(BuildFailed, match=r"^npm: not installed$"):
        run_words(["heap", "read", *words])
    assert asked == [("massif", "x.svg", {"moment": "peak", "owner": "harness", "pattern": re.compile("grow")})]
