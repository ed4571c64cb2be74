"""A quantity has the same number wherever people read it: in README, pages, pictures, cost, plan and report."""

import json
import re
import sys
from pathlib import Path

import pytest

from tests.support import forked_command, planted, synthetic
from tlsmem.base.paths import ROOT
from tlsmem.config.libraries import is_headline_build, libraries, stack_title
from tlsmem.config.stack_names import newest_releases
from tlsmem.cost.find_costs import SUITE, StackCosts, find_costs, find_costs_or_like
from tlsmem.explore import folded_stacks
from tlsmem.plan.assumptions import haproxy_assumptions
from tlsmem.profile import sites_reader
from tlsmem.profile.heap_profile import sum_live
from tlsmem.report import phase_section
from tlsmem.report import recordings as recordings_of_report
from tlsmem.report.answer_section import cost_rows
from tlsmem.schema.records import Phase, RecordLine
from tlsmem.stats import session_cost
from tlsmem.stats.costs import COSTS, LIVE_IN_USE, RSS_AT_REST, RSS_IN_USE, VOCABULARY
from tlsmem.store import read_runs, recordings
from tlsmem.tables import buckets
from tlsmem.topics.churn.picture import last_rss
from tlsmem.topics.churn.waves import find_churn

DOCS = ROOT / "docs"
SESSIONS, SERVERS, WAVES = (
    " ".join((DOCS / f"findings/{topic}.md").read_text().split()) for topic in ("sessions", "live", "churn")
)
OPENSSL, RUSTLS = "openssl@3.5.5", "rustls+aws-lc@0.23.46"
README_SAYS = [
    (OPENSSL, LIVE_IN_USE, "default"),
    (OPENSSL, RSS_AT_REST, "default"),
    (OPENSSL, RSS_IN_USE, "default"),
    (OPENSSL, LIVE_IN_USE, "low memory"),
    ("openssl@3.1.4", LIVE_IN_USE, "default"),
    ("openssl@3.2.0", LIVE_IN_USE, "default"),
    ("openssl@3.1.4", RSS_IN_USE, "default"),
    ("openssl@3.2.0", RSS_IN_USE, "default"),
    ("boringssl@5.4.0", LIVE_IN_USE, "default"),
    (RUSTLS, LIVE_IN_USE, "default"),
]
SEVERAL_BUILDS = [key for key, library in libraries().items() if library.build]
DIFFERED = ["go", "wolfssl", "s2n", "openssl", "rustls"]  # libraries that had several answers


@pytest.fixture(scope="module")
def among():
    return recordings.find_recordings(None)


@pytest.fixture(scope="module")
def newest(among) -> dict[str, StackCosts]:
    """The newest release of each library, of the build that stands for it."""
    there = dict.fromkeys(stack for path in among for stack in recordings.stacks(path))
    return {key: find_costs_or_like(stack, SUITE, among) for key, stack in newest_releases(there).items()}


def has_number(text: str, size: float) -> bool:
    """Whether the text has these bytes, as a number of its own."""
    return re.search(rf"(?<![\d,]){size:,.0f}(?![\d,])", text) is not None


def words_of(picture: Path) -> list[str]:
    """The texts of an SVG picture, which stand beside their outlines."""
    return re.findall(r"<!-- (.*?) -->", picture.read_text())


def plan_rows(*words: str) -> list[dict]:
    """The rows of the first table of an answer of tls-memtest plan."""
    done = forked_command.run([sys.executable, ROOT / "tools/tls-memtest", "plan", *words, "--format", "json"])
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)["tables"][0]["rows"]


@pytest.mark.parametrize(("stack", "cost", "configuration"), README_SAYS)
def test_the_readme_has_the_number_of_cost(among, stack, cost, configuration):
    size = find_costs(stack, SUITE, among).figure("server", cost, configuration)
    assert has_number((ROOT / "README.md").read_text(), size)


@pytest.mark.parametrize("page", ["README.md", "docs/index.md", "docs/how-to/plan.md"])
def test_pages_define_the_three_costs_in_the_same_words(page):
    assert VOCABULARY in " ".join((ROOT / page).read_text().split())


@pytest.mark.parametrize("key", libraries())
def test_library_pages_and_pictures_have_the_numbers_of_cost(newest, key):
    costs, page = newest[key], (DOCS / f"reference/libraries/{key}.md").read_text()
    title = stack_title(costs.stack)
    rows = [line for line in (DOCS / "reference/libraries/index.md").read_text().splitlines() if f"| {title} " in line]
    for cost in COSTS:
        size = costs.figure("server", cost)
        assert has_number(page, size), f"{key}.md: {cost.name}"
        assert has_number(rows[0], size), f"index.md: {cost.name}"
        assert f"{size:,.0f} B" in words_of(DOCS / "figures/server.svg")
    assert f"{costs.figure('server', RSS_IN_USE):,.0f} B" in words_of(DOCS / "slides/1-every-stack.svg")


@pytest.mark.parametrize("key", DIFFERED)
def test_findings_have_the_live_heap_of_cost(newest, key):
    row = re.search(rf"\| {re.escape(libraries()[key].name.split()[0])} \d[^|]*\|[^|]*\|[^|]*\|", SESSIONS)
    assert has_number(row[0], newest[key].figure("server", LIVE_IN_USE))


@pytest.mark.parametrize("key", SEVERAL_BUILDS)
def test_a_library_page_names_other_builds_beside_the_one_that_stands_for_the_library(among, key):
    text = (DOCS / f"reference/libraries/{key}.md").read_text().partition("## Other builds")[2]
    there = {stack for path in among for stack in recordings.stacks(path)}
    for name in libraries()[key].other_builds:
        sizes = [find_costs(stack, SUITE, among).sizes("server") for stack in there if stack.partition("@")[0] == name]
        assert not any(sizes) or any(has_number(text, size) for found in sizes for size in found.values()), name


@pytest.mark.parametrize("key", DIFFERED)
def test_plan_and_report_have_the_rss_in_use_of_cost(newest, among, key):
    costs = newest[key]
    size = costs.figure("server", RSS_IN_USE)
    each = next(row for row in plan_rows("memory", "--connections", "1", "--stack", key) if row["what"].endswith(", E"))
    assert (each["stack"], each["each_bytes"]) == (costs.stack, round(size))
    row = next(row for row in cost_rows(costs, among, []) if row["role"] == "server")
    assert any(
        state.get("rss", {}).get("text") == f"{size:,.0f} B" for state in row.values() if isinstance(state, dict)
    )


@pytest.mark.thorough
def test_haproxys_constants_are_those_of_the_builds_that_stand_for_their_libraries(among):
    rows = {row["stack"]: row for row in plan_rows("haproxy")}
    for stack in haproxy_assumptions().stacks:
        assert is_headline_build(stack), stack
        configuration = "low memory" if stack.startswith("openssl") else "default"  # as HAProxy runs it
        size = find_costs(stack, SUITE, among).figure("server", RSS_IN_USE, configuration)
        assert 0 <= rows[stack]["session_bytes"] - round(size) < 1024


@pytest.mark.parametrize("server", ["nginx", "haproxy"])
def test_findings_have_what_plan_says_of_a_connection_to_a_server(server):
    rows = plan_rows("memory", "--connections", "1", "--as", server, "--stack", OPENSSL)
    each = [row["each_bytes"] for row in rows if row["what"].endswith((", E", ", K")) or "own" in row["what"]]
    assert len(each) == 3 and re.search(rf"plan [^.]*{sum(each):,} B \({server}\)", SERVERS, re.IGNORECASE)


def pictures() -> list[Path]:
    return sorted((*DOCS.glob("figures/*.svg"), *DOCS.glob("slides/*.svg")))


@pytest.mark.parametrize("picture", pictures(), ids=lambda path: path.stem)
def test_pictures_name_the_build_where_it_is_not_the_one_that_stands_for_the_library(picture):
    """wolfSSL of one build holds sixteen times what the other holds."""
    for key in ("wolfssl", "s2n"):
        for text in words_of(picture):
            releases = re.findall(rf"{libraries()[key].name} \d[\d.]*\d(.{{0,2}})", text)
            assert all(after == " (" for after in releases), text


def test_a_ratio_is_said_with_its_quantity(among):
    ours, theirs = (find_costs(stack, SUITE, among) for stack in (OPENSSL, RUSTLS))
    ratios = {cost: ours.figure("server", cost) / theirs.figure("server", cost) for cost in COSTS}
    assert f"- Live heap in use: {ratios[LIVE_IN_USE]:.1f}." in SESSIONS
    assert f"- RSS in use: {ratios[RSS_IN_USE]:.1f} (" in SESSIONS
    titles = [text for name in ("mem", "buckets") for text in words_of(DOCS / f"figures/{name}.svg")]
    peak = next(
        found[1] for text in titles if (found := re.match(r"OpenSSL 3.5.5 takes ([\d.]+) times the peak RSS", text))
    )
    assert f"- Peak RSS, mean of a client and a server session: {peak} (" in SESSIONS
    assert any(text.startswith(f"OpenSSL 3.5.5 takes {ratios[LIVE_IN_USE]:.1f} times the live heap") for text in titles)


@pytest.mark.thorough
def test_what_an_allocator_costs_is_said_with_its_load(among):
    """OpenSSL on jemalloc beside glibc: after waves of connections, and as tls-memtest plan scales."""
    runs = recordings.load_stack(ROOT / "data/2026-11-24-amd-epyc-p0457-churn", OPENSSL)
    waves = {"pattern": "lifetimes", "waves": "100"}.items()
    found = [one for one in find_churn(runs) if one.role == "server" and waves <= dict(one.settings).items()]
    rss = {one.allocator: last_rss(one) for one in found}
    more = f"{100 * (rss['jemalloc'] / rss['system'] - 1):.0f} %"
    assert f"With jemalloc, these waves take {more} more memory than with glibc's malloc" in WAVES
    words = ("memory", "--connections", "1", "--stack", OPENSSL)
    glibc, jemalloc = (
        next(row["each_bytes"] for row in plan_rows(*words, *more) if row["what"].endswith(", E"))
        for more in ((), ("--allocator", "jemalloc"))
    )
    assert (
        f"take {100 * (jemalloc / glibc - 1):.0f} % more. `tls-memtest plan memory --allocator jemalloc` uses a ratio"
        in WAVES
    )


ALONE, ONE_MORE = 21_100, 14_100  # of a client: 7,000 bytes are live at its peak in `client 1` alone


@pytest.fixture(scope="module")
def peaks(tmp_path_factory) -> Path:
    """A recording of sessions in use, with call stacks at peaks."""
    kind = {"suite": f"{SUITE}+tickets-library", "argv": ["memtest", "data=full"]}
    counted = planted.counted(momentary=planted.MOMENTARY, **kind)
    runs = [run.model_copy(update={"phases": used(run)}) for run in counted]
    return synthetic.write(tmp_path_factory.mktemp("peaks") / "recording", runs)


def used(run: RecordLine) -> list[Phase]:
    return [one.model_copy(update={"phase": "blocked"}) if one.phase == "idle" else one for one in run.phases]


def test_one_more_of_many_is_the_slope_of_heap_runs_and_one_session_alone_the_sum_of_call_stacks(peaks):
    small, large, sites = sorted(read_runs.load(peaks), key=lambda run: (run.meter == "sites", run.sessions))
    found = {peak.phase: peak for peak in session_cost.session_peaks(sites, "client")}
    profile = sites_reader.profile_from_record(sites)
    for phase, peak in found.items():
        slope = session_cost.phase_peak_cost(small, large, "client", phase).bytes
        assert (slope.integer_part, slope.remainder) == (peak.one_more.integer_part, peak.one_more.remainder), phase
        moment = f"peak of {phase}"
        stacks = profile.live(moment, "client") if moment in profile.moments else {}
        assert sum_live(stacks).bytes == peak.alone
    assert (found["client 1"].alone, found["client 1"].one_more.integer_part) == (ALONE, ONE_MORE)


def test_peaks_have_the_same_numbers_in_cost_buckets_pages_and_report(peaks):
    """One session alone, and one more of many, by these names."""
    screen = forked_command.run(
        [sys.executable, ROOT / "tools/tls-memtest", "cost", OPENSSL, "--explain", "--recording", peaks]
    )
    client = screen.stdout.partition("A client session: the peak")[2]
    assert re.search(rf"one session alone +{ALONE:,} B +in phase client 1\n", client)
    assert re.search(rf"one more of many at once +{ONE_MORE:,} B ", client)
    profiles = list(buckets.load_profiles([peaks]))
    table = buckets.bucket_table(profiles)
    at = {column.key: number for number, column in enumerate(table.columns)}
    total = next(row for row in table.rows if (row[at["role"]].text, row[at["bucket"]].text) == ("client", "total"))
    assert (total[at["alone"]].text, total[at["most"]].text) == (f"{ALONE:,}", f"{ONE_MORE:,}")
    assert sum(folded_stacks.folded(profiles[0], "peak of client 1", "client").values()) == ALONE
    recorded = next(iter(recordings_of_report.by_machine(recordings_of_report.load_recordings([peaks]))))
    (one,) = phase_section.places(0, recorded)
    of, phase = one.figures["client"], one.names.index("client 1")
    assert (of["alone"][phase][0], of["peak"][phase][0] / of["sessions"]) == (ALONE, ONE_MORE)
