"""Whether a figure of live heap is of the recorded runs: to the byte, with process-wide tables or without them."""

import pytest

import check_answers
from check_commands import Page

PAIRS = (100, 1000)
SESSION = 500  # bytes and one block of each session


def heap_run(pairs: int, left: tuple[int, int]) -> dict:
    """Return a run whose clients keep `left` bytes and blocks when all sessions are closed."""
    live = {"contexts": (0, 0), "established": (SESSION * pairs + left[0], pairs + left[1]), "closed": left}
    phases = [
        {"phase": name, "heap": {"client": {"live_bytes": size, "live_blocks": blocks}}}
        for name, (size, blocks) in live.items()
    ]
    about = {"suite": "tls13-rsa-aes256", "roles": "together", "window": "all", "argv": [], "repeat": 0}
    return about | {"meter": "heap", "sessions": 2 * pairs, "phases": phases}


@pytest.mark.parametrize(
    "left, size, right",
    [
        pytest.param([(0, 0), (0, 0)], SESSION, True, id="as-recorded"),
        pytest.param([(0, 0), (0, 0)], SESSION - 100, False, id="a-hundred-bytes-less"),
        pytest.param([(1_000, 1), (91_000, 4)], SESSION, True, id="without-tables"),
        pytest.param([(1_000, 1), (91_000, 4)], SESSION + 100, True, id="with-tables"),
        pytest.param([(1_000, 1), (91_000, 4)], SESSION + 50, False, id="between"),
        pytest.param([(10_000, 100), (100_000, 1_000)], SESSION, False, id="a-leak-is-no-table"),
    ],
)
def test_a_figure_is_of_two_runs_to_the_byte(monkeypatch, left, size, right):
    runs = [heap_run(pairs, one) for pairs, one in zip(PAIRS, left, strict=True)]
    monkeypatch.setattr(check_answers, "measured_runs", lambda *_: {"tls13-rsa-aes256": runs})
    answer = check_answers.Answer("openssl@3.5.5", "tls13-rsa-aes256", "client", "data/x", "established", size)
    assert (answer.fault() is None) == right


def test_a_report_without_the_recording_of_most_answers_is_named():
    rows = [{"recording": f"data/{name}", "state": None} for name in ("most", "most", "other")]
    data = {"packed-answer": {"rows": rows}, "table-recordings-packed": {"columns": [{"texts": ["most on A"]}]}}
    page = Page("", data, "")
    assert list(check_answers.check_measured(page)) == []
    data["table-recordings-packed"]["columns"] = [{"texts": ["other"]}]
    assert list(check_answers.check_measured(page)) == ["report: What was measured: data/most is missing"]
