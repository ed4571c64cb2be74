"""A session's bytes by bucket: sums that are the heap meter's, what is covered, and the reasons said of them."""

import re
import subprocess
import sys
from fractions import Fraction
from functools import cache

import pytest

from tests.support import forked_command, planted
from tlsmem.base.paths import ROOT
from tlsmem.profile import sites_reader
from tlsmem.profile.buckets import reasons, rules
from tlsmem.profile.buckets.rules import OTHER
from tlsmem.profile.buckets.sums import BucketSums
from tlsmem.profile.frames import Frame
from tlsmem.profile.heap_profile import BASE, PEAK, CallstackTree, LiveHeap, Moment, Profile
from tlsmem.schema import read_records, records
from tlsmem.stats import session_cost
from tlsmem.stats.selection import select
from tlsmem.tables import buckets, catalogue
from tlsmem.tables.table import Table

RECORDING = ROOT / "data/2026-11-21-amd-epyc-2"
LEAST = 0.97  # of what is live, at the fullest phase and when established
ROLES = ("client", "server")


@cache
def loaded() -> list[records.RecordLine]:
    return read_records.load(RECORDING)


def sites_runs() -> list[records.RecordLine]:
    return [one for one in loaded() if one.meter == "sites" and one.status == "measured"]


def named(run: records.RecordLine) -> str:
    return f"{run.stack} {run.suite}"


# By name, because each process that collects tests would read the recording: a third of a second of CPU time.
NAMES = [
    f"{stack} {suite}"
    for stack in ("openssl@3.5.5", "rustls+aws-lc@0.23.46")
    for suite in ("tls12-rsa-aes256", "tls13-rsa-aes256", "tls13-rsa-aes256-pq")
]


@pytest.fixture(params=NAMES)
def run(request) -> records.RecordLine:
    return next(one for one in sites_runs() if named(one) == request.param)


def test_these_sites_runs_are_recorded():
    assert list(map(named, sites_runs())) == NAMES


def test_buckets_add_up_to_the_heap_meter_s_slopes_to_the_byte_and_block(run):
    """At the end of every phase, against two heap runs of the same stack and suite."""
    alone = select(loaded(), [run.stack], [run.suite], roles=["together"], envs=["lab"], windows=["all"])
    (setting,) = [one for one in alone.settings if one.allocator == "system" and not one.peer]
    heap = alone.series(run.stack, setting).heap_pair()
    sums = BucketSums(sites_reader.profile_from_record(run))
    judged = [name for name in sums.phases() if name != "freed"]
    assert len(judged) >= 11
    for name in judged:
        for role in ROLES:
            cost = session_cost.live_cost(*heap, role, name)
            held = sums.live_by_bucket(name, role).values()
            assert cost.bytes.remainder == 0 and sum(one.bytes for one in held) == cost.bytes.integer_part, (name, role)
            assert cost.blocks.remainder == 0 and sum(one.blocks for one in held) == cost.blocks.integer_part, (
                name,
                role,
            )


def test_what_the_rules_cover(run):
    sums = BucketSums(sites_reader.profile_from_record(run))
    for role in ROLES:
        for name in (sums.fullest(role), "established", "reply", "idle"):
            whole = sums.live_total(name, role).bytes
            uncovered = sums.live_by_bucket(name, role).get(OTHER, LiveHeap(0, 0)).bytes
            assert whole > 0 and 1 - uncovered / whole >= LEAST, (name, role)


def test_no_rule_takes_everything(run):
    """Where a session holds most there are several purposes, and none has more than half."""
    sums = BucketSums(sites_reader.profile_from_record(run))
    for role in ROLES:
        held = sums.live_by_bucket(sums.fullest(role), role)
        assert (
            len(held) >= 4
            and max(one.bytes for one in held.values()) < 0.6 * sums.live_total(sums.fullest(role), role).bytes
        )


def rows(table: Table) -> list[dict[str, str]]:
    keys = [column.key for column in table.columns]
    return [dict(zip(keys, (cell.text for cell in row), strict=True)) for row in table.rows]


def frame(function: str) -> Frame:
    return Frame(function, None, None, "module", 16)


def profile(
    live: dict[str, dict[tuple[str, ...], LiveHeap]], sessions: int | None = 1, stack: str | None = None
) -> Profile:
    """Moments with what is live by functions, innermost first."""
    stacks = CallstackTree()

    def number(functions: tuple[str, ...]) -> int:
        caller = 0
        for function in reversed(functions):
            if function not in places:
                places[function] = stacks.place((frame(function),))
            caller = stacks.add(places[function], caller)
        return caller

    places: dict[str, int] = {}
    moments = {}
    for name, of in live.items():
        held = {number(functions): one for functions, one in of.items()}
        moments[name] = Moment(name, sum(one.bytes for one in held.values()), held)
    model = next(one for one in sites_runs() if one.stack == "openssl@3.5.5") if stack else None
    found = model and model.model_copy(update={"stack": stack, "suite": "a suite"})
    return Profile(
        "sites", "a file", "a command", stacks, moments, of_one_pair=True, run=found, sessions_of_role=sessions
    )


READ = ("malloc", "CRYPTO_malloc", "tls_setup_read_buffer", "client_read")
WRITE = ("malloc", "CRYPTO_malloc", "tls_setup_write_buffer", "client_write")
UNKNOWN = ("malloc", "nobody_knows", "client_read")
OF_SERVER = ("malloc", "ossl_ssl_connection_new_int", "server_session_new")
OF_CONTEXT = ("malloc", "SSL_CTX_new", "client_context_new")


def test_the_table_has_every_figure_of_known_blocks():
    made = profile(
        {
            BASE: {READ: LiveHeap(100, 1), OF_CONTEXT: LiveHeap(7000, 7)},
            "sessions": {READ: LiveHeap(100, 1), OF_SERVER: LiveHeap(40, 2), OF_CONTEXT: LiveHeap(7000, 7)},
            "client 1": {
                READ: LiveHeap(2100, 3),
                WRITE: LiveHeap(90, 1),
                UNKNOWN: LiveHeap(10, 1),
                OF_SERVER: LiveHeap(40, 2),
            },
            "established": {READ: LiveHeap(1100, 2), UNKNOWN: LiveHeap(10, 1), OF_SERVER: LiveHeap(40, 2)},
        },
        sessions=10,
        stack="openssl@1",
    )
    found = {(row["role"], row["bucket"]): row for row in rows(buckets.bucket_table([made], blocks=True))}
    client = {bucket: row for (role, bucket), row in found.items() if role == "client"}
    assert list(client) == ["record buffers, read", "record buffers, write", OTHER, "total", "covered"]
    assert client["record buffers, read"]["established"] == "100 (0.10)"
    assert client["record buffers, read"]["most"] == "200 (0.20)" and client["total"]["most_in"] == "client 1"
    assert client[OTHER]["established"] == "1 (0.10)" and client["total"]["established"] == "101 (0.20)"
    assert client["total"]["sessions"] == "0 (0)" and client["covered"]["established"] == "99.0 %"
    assert client["total"]["idle"] == "–"
    server = {bucket: row for (role, bucket), row in found.items() if role == "server"}
    assert server["connection structure"]["established"] == "4 (0.20)" == server["total"]["most"]
    assert server[OTHER]["established"] == "0 (0)", "other is never hidden"


def test_a_share_is_never_rounded_up():
    made = profile({"established": {READ: LiveHeap(99_999, 1), UNKNOWN: LiveHeap(1, 1)}}, stack="openssl@1")
    assert rows(buckets.bucket_table([made]))[-1]["established"] == "99.9 %"


def test_the_tool_s_own_peak_goes_before_the_fullest_phase():
    made = profile({"established": {READ: LiveHeap(9, 1)}, PEAK: {READ: LiveHeap(5, 1)}}, stack="openssl@1")
    found = rows(buckets.bucket_table([made]))
    assert (found[0]["most"], found[0]["most_in"]) == ("5", PEAK)


def test_what_was_live_before_any_session_is_nobody_s_fullest_phase():
    made = profile({BASE: {READ: LiveHeap(900, 9)}, "established": {READ: LiveHeap(905, 10)}}, stack="openssl@1")
    found = rows(buckets.bucket_table([made]))
    assert (found[0]["most"], found[0]["most_in"]) == ("5", "established")


def test_without_rules_all_is_other_and_the_caption_says_so(snapshot):
    for made in (
        profile({"established": {READ: LiveHeap(9, 1)}}),
        profile({"established": {READ: LiveHeap(9, 1)}}, stack="x@1"),
    ):
        table = buckets.bucket_table([made])
        assert [row["bucket"] for row in rows(table)] == [OTHER, "total", "covered"]
        assert rows(table)[-1]["established"] == "0.0 %"
        assert table.caption == snapshot


def test_a_tool_that_counts_no_blocks_has_bytes():
    made = profile({"established": {READ: LiveHeap(9, None), UNKNOWN: LiveHeap(1, None)}}, stack="openssl@1")
    assert [row["established"] for row in rows(buckets.bucket_table([made], blocks=True))] == ["9", "1", "10", "90.0 %"]


def test_the_catalogue_has_it_of_every_recorded_stack_and_suite():
    (table,) = catalogue.build(select(loaded()), ["buckets"])
    totals = [row for row in rows(table) if row["bucket"] == "total"]
    assert len(totals) == 12 and {row["suite"] for row in totals} == {one.suite for one in sites_runs()}
    client = next(row for row in totals if row["suite"] == "tls13-rsa-aes256" and row["role"] == "client")
    assert client["established"] == "47,592" and client["closed"] == "0"


def two(larger: dict[tuple[str, ...], LiveHeap], smaller: dict[tuple[str, ...], LiveHeap]) -> list[str]:
    made = [profile({"established": larger}, stack="openssl@1"), profile({"established": smaller}, stack="rustls@1")]
    return reasons.explain_pairs(made)


RUSTLS_READ = ("alloc::alloc::alloc", "rustls::msgs::deframer::buffers::DeframerVecBuffer::read", "client_read")


def test_reasons_come_with_figures_of_the_profiles_the_largest_difference_first(snapshot):
    sentences = two({READ: LiveHeap(900, 1), WRITE: LiveHeap(950, 1)}, {RUSTLS_READ: LiveHeap(400, 1)})[:3]
    figures = [re.findall(r"[\d,]+(?= B)", one.partition(". ")[0]) for one in sentences]
    assert figures == [["1,850", "400"], ["950", "950", "0"], ["500", "900", "400"]]
    assert sentences[2].endswith(rules.rules_of_family("rustls").rules[0].why)
    assert sentences == snapshot


RUSTLS = "rustls+aws-lc@0.23.46"


def alone(momentary: planted.Sites | None, stack: str = planted.STACK, sites: planted.Sites = planted.SITES):
    return sites_reader.profile_from_record(planted.run("sites", 200, sites, momentary=momentary, stack=stack))


FEWER = planted.with_sites("client", SSL_new=(100, 1))


def test_one_session_alone_and_one_more_of_many_are_said_of_two_stacks():
    """7,000 bytes of the client's are live at its peak in `client 1`, and at no phase's end."""
    ours, theirs = alone(planted.MOMENTARY), alone(planted.MOMENTARY, RUSTLS, FEWER)
    leads = [one for one in reasons.explain_pairs([ours, theirs]) if one.endswith(":") and "a client" in one]
    assert [re.findall(r"[\d,]+(?= B)", one) for one in leads[2:]] == [["14,100", "5,200"], ["21,100", "12,200"]]
    assert leads[2].startswith("As one more of many at the peak (") and leads[2].count("(`sessions`)") == 2
    assert leads[3].startswith("As one session alone at its peak (") and leads[3].count("(`peak of client 1`)") == 2
    assert any("as one session alone at its peak" in one for one in reasons.explain_profile(ours))


def test_nothing_stands_for_a_peak_that_one_of_two_stacks_has_no_call_stacks_of():
    ours, theirs = alone(planted.MOMENTARY), alone(None, RUSTLS, FEWER)
    assert not any("alone" in one for one in reasons.explain_pairs([ours, theirs]))
    table = buckets.bucket_table([ours, theirs])
    assert "alone" not in [column.key for column in table.columns] and "alone" not in table.caption


def test_the_table_has_the_peak_of_one_session_alone_beside_the_fullest_phase():
    table = buckets.bucket_table([alone(planted.MOMENTARY)])
    (client, server) = (row for row in rows(table) if row["bucket"] == "total")
    assert (client["most"], client["most_in"]) == ("14,100", "sessions")
    assert (client["alone"], client["alone_in"]) == ("21,100", "client 1")
    assert (server["alone"], server["alone_in"]) == ("14,756", "client 1")
    assert "Alone: the peak of one session alone" in table.caption


def test_a_reason_is_given_once():
    sentences = two({READ: LiveHeap(900, 1)}, {RUSTLS_READ: LiveHeap(400, 1)})
    why = rules.rules_of_family("openssl").rules[0].why
    assert len(sentences) == 4 and sum(why in sentence for sentence in sentences) == 1


def test_what_holds_less_has_a_minus_and_small_differences_are_one_sentence(snapshot):
    _, first, rest, *_ = two({WRITE: LiveHeap(9000, 1), UNKNOWN: LiveHeap(1, 1)}, {RUSTLS_READ: LiveHeap(40, 1)})
    assert [re.findall(r"[+−][\d,]+(?= B)", one) for one in (first, rest)] == [["+9,000"], ["−40", "+1"]]
    assert [first, rest] == snapshot


def test_differences_said_add_up_on_the_recording():
    """Every sentence's bytes between two that end with a colon are the difference of the totals in the first."""
    profiles = [sites_reader.profile_from_record(one) for one in sites_runs() if one.suite == "tls13-rsa-aes256"]
    one, other = map(BucketSums, profiles)
    for role in ROLES:
        sides = [reasons.StackSide(sums, role, "established") for sums in (one, other)]
        parts = [sides[0].bytes(bucket) - sides[1].bytes(bucket) for bucket in rules.buckets()]
        assert sum(parts) == sides[0].total_per_session - sides[1].total_per_session > Fraction(20_000)


def explain(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, ROOT / "tools/tls-memtest", "why", *arguments]
    return forked_command.run(command)


def test_the_script_says_it_in_markdown(snapshot):
    said = explain(str(RECORDING), "--suite", "tls13-rsa-aes256")
    assert said.returncode == 0 and said.stderr.count("\n") <= 3
    assert "47,592 B against 9,712 B:\n\n- **" in said.stdout
    assert said.stdout == snapshot


HEAPTRACK = "tls13-rsa-aes256.1000.heaptrack"


@pytest.mark.thorough
def test_profiles_are_explained_as_recordings_are(tmp_path):
    files = [str(RECORDING / f"profiles/{one}.{HEAPTRACK}.zst") for one in ("openssl@3.5.5", "rustls+aws-lc@0.23.46")]
    said = explain(*files)
    assert said.returncode == 0 and "47,592 B against 9,712 B:\n\n- **" in said.stdout, said.stderr
    (tmp_path / "profiles").symlink_to(RECORDING / "profiles")
    chosen = [word for stack in ("openssl@3.5.5", "rustls+aws-lc@0.23.46") for word in ("--stack", stack)]
    assert explain(str(tmp_path), "--suite", "tls13-rsa-aes256", *chosen).stdout == said.stdout
    page = tmp_path / "page.md"
    page.write_text(f"<!-- begin: tools/tls-memtest why {' '.join(files)} -->\n<!-- end -->\n")
    assert explain(*files, "--into", str(page)).returncode == 0 and said.stdout.strip() in page.read_text()


@pytest.mark.thorough
def test_a_profile_without_its_record_cannot_be_explained(tmp_path, snapshot):
    alone = tmp_path / "alone.zst"
    alone.write_bytes((RECORDING / f"profiles/openssl@3.5.5.{HEAPTRACK}.zst").read_bytes())
    said = explain(str(alone))
    assert said.returncode == 1 and said.stderr.count("\n") == 1
    assert said.stderr == snapshot


def test_nothing_to_compare_is_a_sentence(snapshot):
    said = explain(str(RECORDING / "openssl@3.5.5.jsonl"))
    assert said.returncode == 1 and said.stdout == ""
    assert said.stderr.splitlines()[-1] == snapshot
