"""What a session costs, as files for a CI: each is read by its own tool's parser or by the schema of its tool, and has
the figures of `tls-memtest cost`."""

import errno
from typing import Annotated, NotRequired

import pytest
from pydantic import ConfigDict, Field, TypeAdapter, with_config
from typing_extensions import TypedDict  # pydantic takes none of typing before Python 3.12

from tests.support import in_process, planted, synthetic
from tests.support.in_use import BORING, OPENSSL, RUSTLS, SUITE, recorded
from tlsmem.base.paths import ROOT
from tlsmem.cli.dispatch import run_words
from tlsmem.config.choices import FIGURE_FORMATS
from tlsmem.cost import figure_files
from tlsmem.cost.session_costs import find_session_costs
from tlsmem.store import recordings

TREE = "openssl@git-135527611d82"
SIZES = ("live_heap_in_use_bytes", "live_heap_at_rest_bytes", "rss_at_rest_bytes", "rss_in_use_bytes")
STRICT = ConfigDict(extra="forbid", strict=True)
Finite = Annotated[float, Field(allow_inf_nan=False)]


@with_config(STRICT)
class GithubEntry(TypedDict):
    """A result as github-action-benchmark takes it; it compares ranges of this form only, with two digits or more."""

    name: Annotated[str, Field(min_length=1)]
    unit: str
    value: Finite
    range: NotRequired[Annotated[str, Field(pattern=r"^(\+-|±)\s*\d[\d.]+$")]]
    extra: NotRequired[str]


@with_config(STRICT)
class BencherMetric(TypedDict):
    """A metric of https://bencher.dev/bmf.json."""

    value: Finite
    lower_value: NotRequired[Finite]
    upper_value: NotRequired[Finite]


GITHUB = TypeAdapter(list[GithubEntry])
BENCHER = TypeAdapter(
    dict[  # a benchmark's name is shorter, and a measure that has the form of a slug is found by it
        Annotated[str, Field(max_length=1024)],
        dict[Annotated[str, Field(max_length=64, pattern="^[a-z0-9]+(-[a-z0-9]+)*$")], BencherMetric],
    ]
)


@pytest.fixture
def recording(tmp_path):
    """OpenSSL with its defaults and with low memory, a tree of it, and BoringSSL at rest only."""
    runs = recorded(OPENSSL, "+tickets-library", 1_000) + recorded(OPENSSL, "+low-memory+tickets-library", -30_000)
    runs += [rename(run, TREE) for run in recorded(OPENSSL, "+tickets-library", 2_000)]
    runs = [run.model_copy(update={"window": 100}) for run in runs]
    recordings.load_stack.cache_clear()
    return synthetic.write(tmp_path / "recording", [*runs, *synthetic.campaign([BORING], [SUITE], roles="split")])


def rename(run, stack):
    return run.model_copy(update={"stack": stack, "argv": [one.replace(OPENSSL, stack) for one in run.argv]})


def export(recording, form, file) -> int:
    """The exit status."""
    words = ["data", "export", str(recording), "--format", form, "-o", str(file)]
    return in_process.exit_status(lambda: run_words(words))


def read(capsys, recording, form) -> str:
    assert export(recording, form, "-") == 0
    return capsys.readouterr().out


def known_sizes(recording) -> dict[tuple[str, str, str, str], dict[str, float]]:
    """What `tls-memtest cost` has, by stack, role, configuration and state."""
    rows = find_session_costs([OPENSSL, BORING], SUITE, None, [recording])
    return {
        (row.stack, row.role, row.configuration, row.state): {
            name: size for name in SIZES if (size := getattr(row, name)) is not None
        }
        for row in rows
    }


def test_an_action_reads_each_cost_as_an_entry(capsys, recording):
    entries = GITHUB.validate_json(read(capsys, recording, "github-action-benchmark"))
    names = [one["name"] for one in entries]
    assert len(set(names)) == len(names)
    by_name = {one["name"]: one for one in entries}
    for (stack, role, configuration, state), sizes in known_sizes(recording).items():
        unusual = f", {configuration}" * (configuration != "default") + f", {state}" * (stack == BORING)
        for name, size in sizes.items():
            title = next(one.name for one in figure_files.EVERY_COST if one.key == name)
            assert by_name[f"{stack}, {SUITE}, {role} session{unusual}: {title}"]["value"] == size
    server = by_name[f"{OPENSSL}, {SUITE}, server session: Live heap in use"]
    assert server["value"] == 53_000 and server["unit"] == "B" and "range" not in server


def test_bencher_reads_each_session_as_a_benchmark(capsys, recording):
    benchmarks = BENCHER.validate_json(read(capsys, recording, "bencher"))
    measures = benchmarks[f"{OPENSSL}, {SUITE}, server session, low memory"]
    known = known_sizes(recording)[OPENSSL, "server", "low memory", figure_files.USUAL_STATE]
    assert {name.replace("-", "_"): metric["value"] for name, metric in measures.items()} == known
    (boring,) = (one for name, one in benchmarks.items() if name.startswith(f"{BORING}, {SUITE}, client session"))
    assert set(boring) == {"live-heap-at-rest-bytes", "rss-at-rest-bytes"}


def test_prometheus_reads_each_cost_as_a_gauge(capsys, recording):
    from prometheus_client.openmetrics.parser import text_string_to_metric_families

    families = {one.name: one for one in text_string_to_metric_families(read(capsys, recording, "openmetrics"))}
    assert {(one.type, one.unit) for name, one in families.items() if name != "tls_session_recording"} == {
        ("gauge", "bytes")
    }
    for key, sizes in known_sizes(recording).items():
        for name, size in sizes.items():
            labels = dict(zip(("stack", "role", "configuration", "state"), key, strict=True)) | {"suite": SUITE}
            (sample,) = (one for one in families[f"tls_session_{name}"].samples if one.labels == labels)
            assert sample.value == size
    origin = next(one.labels for one in families["tls_session_recording"].samples if one.labels["stack"] == OPENSSL)
    assert origin["recording"] == str(recording)


@pytest.mark.parametrize("sign", ['"', "\\n", "\n", "é"])
def test_a_label_is_read_back_whatever_is_in_it(sign):
    from prometheus_client.openmetrics.parser import text_string_to_metric_families

    place = figure_files.Place(f"a{sign}b", SUITE, "server", "default", "in use")
    figure = figure_files.Figure(place, figure_files.LIVE_IN_USE, 1.0, None, OPENSSL, "data/x")
    gauge, _ = text_string_to_metric_families(figure_files.format_openmetrics([figure]))
    assert gauge.samples[0].labels["stack"] == f"a{sign}b".replace("\n", "?")


def test_a_tree_has_one_name_at_every_commit_and_several_trees_have_their_own(capsys, recording):
    entries = GITHUB.validate_json(read(capsys, recording, "github-action-benchmark"))
    extra = {one["name"].partition(",")[0]: one["extra"] for one in entries}
    assert set(extra) == {OPENSSL, BORING, "openssl@git"} and extra["openssl@git"].startswith(f"{TREE}: in use")
    other = "openssl@git-0123456789ab"
    assert figure_files.name_trees([TREE, other, "rustls@path-00"]) == {
        TREE: TREE,
        other: other,
        "rustls@path-00": "rustls@path",
    }


@pytest.mark.thorough
def test_rss_that_was_measured_several_times_has_its_interval(capsys):
    """Of a recording of this repository, whose repeats vary."""
    recording = ROOT / "data/2026-11-22-amd-epyc"
    file = recording / f"{RUSTLS}.jsonl.zst"
    text = read(capsys, file if file.exists() else recording, "bencher")
    metrics = [one for measures in BENCHER.validate_json(text).values() for one in measures.items()]
    assert {"lower_value" in one for name, one in metrics if name.startswith("live")} == {False}
    entries = GITHUB.validate_json(read(capsys, file if file.exists() else recording, "github-action-benchmark"))
    assert {"RSS" in one["name"] for one in entries if "range" in one} == {True}
    intervals = [one for name, one in metrics if "lower_value" in one]
    assert intervals and all(one["lower_value"] <= one["value"] <= one["upper_value"] for one in intervals)


@pytest.mark.parametrize("form", FIGURE_FORMATS)
def test_a_file_is_whole_or_as_it_was(capsys, monkeypatch, recording, tmp_path, form):
    file = tmp_path / "costs"
    assert export(recording, form, file) == 0 and file.read_text() == read(capsys, recording, form)
    before = file.read_text()

    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr("os.replace", full)
    assert export(recording, form, file) == 1
    assert capsys.readouterr().err == f"memtest: {file}: No space left on device\n"
    assert file.read_text() == before and not [*tmp_path.glob(".*")]


def refused(capsys, *words) -> str:
    assert in_process.exit_status(lambda: run_words(["data", "export", *map(str, words)])) == 2
    (line,) = capsys.readouterr().err.splitlines()
    return line


def test_bad_input_is_one_sentence(capsys, recording, tmp_path):
    form = ("--format", "bencher")
    assert "did you mean bencher?" in refused(capsys, recording, "--format", "benchr", "-o", tmp_path / "x")
    assert "is a directory; " in refused(capsys, recording, *form, "-o", tmp_path)
    assert "leave it out with" in refused(capsys, recording, *form, "--table", "runs", "-o", tmp_path / "x")
    assert "is missing" in refused(capsys, recording, *form)
    assert "no such recording" in refused(capsys, tmp_path / "nosuch", *form, "-o", tmp_path / "x")
    inside = next(recording.glob("*.jsonl"))
    before = inside.read_bytes()
    assert "which is not written over" in refused(capsys, recording, *form, "-o", inside)
    assert inside.read_bytes() == before


def test_a_recording_without_costs_is_one_sentence(capsys, tmp_path):
    timed = planted.write(tmp_path / "2026-01-31-a-cpu", [planted.run("sites", 200)])
    assert "no runs that say what a session costs" in refused(capsys, timed, "--format", "bencher", "-o", "-")


def test_a_missing_directory_is_named(capsys, recording, tmp_path):
    assert export(recording, "bencher", tmp_path / "nosuch/x") == 1
    assert capsys.readouterr().err == f"memtest: {tmp_path}/nosuch/x: No such file or directory\n"
