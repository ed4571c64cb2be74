"""The options of timed campaigns: what cannot be is one sentence, before anything is installed."""

import json

import pytest

from tests.support import commands
from tlsmem.base.errors import UserError
from tlsmem.base.paths import ROOT
from tlsmem.schema import records
from tlsmem.schema.recording_files import is_recording
from tlsmem.store import read_runs


def refusal(options, goal="throughput"):
    with pytest.raises(UserError) as stop:
        commands.parse_target(goal, **options)
    assert stop.value.status == 2
    return str(stop.value)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"SIZES": "16,x"}, "SIZES=x is not a whole number from 1 to 1,073,741,824"),
        ({"SIZES": "0"}, "SIZES=0 must be at least 1"),
        ({"SIZES": "1073741825"}, "SIZES=1073741825 is too large; the maximum is 1073741824"),
        ({"SIZES": ","}, "SIZES=, has no number; it must be whole numbers from 1 to 1,073,741,824"),
        ({"THREADS": "1 0"}, "THREADS=0 must be at least 1"),
        ({"THREADS": "257"}, "THREADS=257 is too large; the maximum is 256"),
        ({"REPEATS": "0"}, "REPEATS=0 must be at least 1"),
        ({"SUITES": "tls13-rsa-aes256-id"}, "SUITES: tls13-rsa-aes256-id resumes sessions, which the target "
         "throughput does not; leave it out"),
    ],
)  # fmt: skip
def test_nonsense_is_a_sentence(options, said):
    assert refusal(options) == said


def test_what_is_not_of_this_target_is_refused_and_the_rest_taken():
    assert refusal({"JOBS": "2"}).startswith("`make throughput` does not take JOBS")
    assert refusal({"SIZES": "16"}, "handshake").startswith("`make handshake` does not take SIZES")
    commands.parse_target("throughput", SIZES="16,64 1048576", THREADS="1,64")
    for goal in ("handshake", "mem"):
        commands.parse_target(goal, SUITES="tls13-rsa-aes256-id")


@pytest.mark.parametrize("value", ["0", "-1", "nan", "inf", "two", "1e3"])
def test_the_multiplier_is_a_positive_number_wherever_it_comes_from(monkeypatch, value):
    monkeypatch.setenv("BENCH_MULTIPLIER", value)
    assert refusal({}).startswith(f"BENCH_MULTIPLIER={value} is not a positive number")
    commands.parse_target("compare", A="null@c", B="null@c")  # a target that does not take it


@pytest.mark.thorough
def test_recordings_of_earlier_schemas_are_read():
    folders = filter(is_recording, (ROOT / "data").glob("20*"))  # not of real servers alone
    found = {run.schema_ for folder in folders for run in read_runs.load(folder)}
    assert found >= {1, 2}


def test_the_schema_of_a_record_is_written_down():
    assert (
        json.loads((ROOT / "docs/reference/record.schema.json").read_text()) == records.RecordLine.model_json_schema()
    )
