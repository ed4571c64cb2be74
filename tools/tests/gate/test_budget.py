"""BUDGET.toml: what it may say, and that all else is a sentence which names file, table and key."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as some

from tlsmem.gate import budget
from tlsmem.gate.budget import BudgetError

ONE = {"stack": "openssl@3.5.5", "suite": "tls13-rsa-aes256", "role": "client", "phase": "established"}
ONE |= {"meter": "heap", "limit": "52 KiB"}


def text_of(*entries: dict, **head) -> str:
    """JSON's texts, numbers and lists are TOML's too."""
    tables = [head, *entries]
    bodies = ["".join(f"{key} = {json.dumps(value)}\n" for key, value in one.items()) for one in tables]
    return "\n[[budget]]\n".join(bodies)


def spread(tmp_path, text: str | bytes) -> list[budget.Budget]:
    file = tmp_path / "BUDGET.toml"
    file.write_bytes(text if isinstance(text, bytes) else text.encode())
    return list(budget.expand_entries(budget.load_budgets(file)))


WRONG = [
    (ONE | {"stack": ""}, "stack: String should have at least 1 character"),
    (ONE | {"against": ""}, "against: String should have at least 1 character"),
    (ONE | {"stack": 7}, "stack: Input should be a valid string"),
    (ONE | {"suite": "tls13-rsa-aes25"}, "suite: no suite tls13-rsa-aes25 among those of memtest/suites.toml; did you"),
    (ONE | {"suite": []}, "suite: List should have at least 1 item"),
    (ONE | {"suite": "tls13-rsa-aes256-ticket"}, "suite: tls13-rsa-aes256-ticket resumes sessions, which only"),
    (ONE | {"role": "clint"}, "role: no role clint of heap; did you mean client?"),
    (ONE | {"role": ["client", "process"]}, "role: no role process of heap; there are: client, server, pair"),
    (ONE | {"phase": "establishd"}, "phase: no phase establishd; did you mean established?"),
    (ONE | {"phase": "client 0"}, "phase: no phase client 0; did you mean client 1"),
    (ONE | {"phase": "contexts"}, "phase: no phase contexts; "),
    (ONE | {"meter": "heep"}, "meter: no meter heep; did you mean heap?"),
    (ONE | {"meter": "rest"}, "meter: no meter rest; "),
    (ONE | {"meter": "allocations", "phase": "peak"}, "phase: allocations are counted up to the end of a phase"),
    (ONE | {"meter": "handshakes", "limit": "1/s"}, "phase: no phase established of handshakes; there are: handshake"),
    (ONE | {"limit": 52}, "limit: Input should be a valid string"),
    (ONE | {"limit": "+x%"}, "limit: '+x%' is no limit of heap; it is written as 52 KiB or +1%"),
    (ONE | {"limit": "-5 B"}, "limit: '-5 B' is negative"),
    (ONE | {"limit": "0 KiB"}, "limit: '0 KiB' is nothing at all, and heap is never that in established"),
    (ONE | {"limit": "0 B", "meter": "rss", "phase": "closed"}, "limit: '0 B' is nothing at all, and rss is never"),
    (ONE | {"limit": "14 blocks", "meter": "rss"}, "limit: '14 blocks' is no limit of rss"),
    (ONE | {"limmit": "52 KiB"}, "limmit: no such key; did you mean limit?"),
    ({name: value for name, value in ONE.items() if name != "meter"}, "meter: it is missing"),
    ({name: value for name, value in ONE.items() if name != "role"}, "role: it is missing; heap is of client, server"),
    ({name: value for name, value in ONE.items() if name != "phase"}, "phase: it is missing; for instance established"),
]
UNREADABLE = [
    ("sessions = 21\n" + text_of(ONE), "sessions: Input should be a multiple of 2"),
    ("sessions = 2\n" + text_of(ONE), "sessions: Input should be greater than or equal to 20"),
    ("repeats = 0\n" + text_of(ONE), "repeats: Input should be greater than or equal to 1"),
    ("base = 'x'\n" + text_of(ONE), "base: no such key; did you mean baseline?"),
    ("", "budget: it is missing"),
    ("budget = []", "budget: it is missing"),
    ("budget = 7", "budget: it must be tables [[budget]]: Input should be a valid list"),
    ("budget = [7]", "[[budget]] 1: "),
    ("x = ", "is no TOML: Invalid value"),
    ("x = " + "[" * 20_000, "is no TOML that can be read: its values are nested too deep"),
    ("x = " + "9" * 20_000, "is no TOML: Exceeds the limit"),
    (b"\xff\xfe", "is no TOML: it is not text in UTF-8"),
]


@pytest.mark.parametrize("entry, why", WRONG)
def test_what_a_table_cannot_say_is_a_sentence_that_names_it(tmp_path, entry, why):
    with pytest.raises(BudgetError) as error:
        spread(tmp_path, text_of(ONE, entry))
    assert str(error.value).startswith(f"{tmp_path}/BUDGET.toml: [[budget]] 2: {why}")


@pytest.mark.parametrize("text, why", UNREADABLE)
def test_what_the_file_cannot_say_is_a_sentence_that_names_it(tmp_path, text, why):
    with pytest.raises(BudgetError) as error:
        spread(tmp_path, text)
    assert str(error.value).startswith(f"{tmp_path}/BUDGET.toml: {why}")


@pytest.mark.parametrize("name", ["", "none.toml"])
def test_a_file_that_cannot_be_read_is_a_sentence(tmp_path, name):
    with pytest.raises(BudgetError, match=r"cannot read the budgets: (No such file|Is a directory)"):
        budget.load_budgets(tmp_path / name)


def test_lists_are_a_budget_for_each_and_names_of_people_are_those_of_records(tmp_path):
    lists = {"suite": ["tls12-rsa-aes256", "tls13-rsa-aes256"], "role": ["client", "server"]}
    found = spread(tmp_path, text_of(ONE | lists | {"phase": ["created", "sessions", "1 KiB back", "peak"]}))
    assert [one.number for one in found] == [1] * 12
    assert len({one.place for one in found}) == 12
    assert {one.place.phase for one in found} == {"created", "reply", "peak"}
    assert str(found[0]) == "openssl@3.5.5, tls12-rsa-aes256: client session, created, heap"


def test_what_there_is_one_of_need_not_be_said(tmp_path):
    rates = {"stack": "openssl@3.5.5", "suite": "tls13-rsa-aes256", "meter": "send", "limit": "-3%"}
    peak = rates | {"meter": "peak-rss", "limit": "99 MiB"}
    send, process = spread(tmp_path, text_of(rates, peak, sessions=100))
    assert (send.place.role, send.place.phase, send.place.sessions) == ("server", "transfer", None)
    assert (process.place.role, process.place.phase, process.place.sessions) == ("process", "peak", 100)


def test_nothing_left_is_a_limit_where_no_session_is(tmp_path):
    (found,) = spread(tmp_path, text_of(ONE | {"phase": "closed", "limit": "0 B"}))
    assert found.limit.threshold(None) == 0


VALUES = some.recursive(
    some.text(max_size=8) | some.integers(-(2**70), 2**70) | some.floats(allow_nan=False) | some.booleans(),
    lambda inner: some.lists(inner, max_size=3),
    max_leaves=6,
)
KEYS = some.sampled_from([*ONE, "against", "role"]) | some.from_regex("[a-z]{1,8}", fullmatch=True)
SOUND = text_of(ONE, baseline="base")


def inf(text: str) -> str:
    """As TOML has it."""
    return text.replace("Infinity", "inf")


@given(some.lists(some.dictionaries(KEYS, VALUES, max_size=7), max_size=3), some.dictionaries(KEYS, VALUES, max_size=2))
def test_any_tables_are_budgets_or_a_sentence(tmp_path_factory, entries, head):
    read_or_refused(tmp_path_factory, inf(text_of(*(ONE | one for one in entries), **head)).encode(errors="replace"))


@given(some.binary(max_size=40) | some.text(max_size=40).map(str.encode), some.integers(0, len(SOUND)))
def test_any_file_is_budgets_or_a_sentence(tmp_path_factory, content, at):
    read_or_refused(tmp_path_factory, SOUND[:at].encode() + content + SOUND[at:].encode())
    read_or_refused(tmp_path_factory, content)


def read_or_refused(folders, content: bytes) -> None:
    try:
        spread(folders.getbasetemp(), content)
    except BudgetError as error:
        assert "BUDGET.toml: " in str(error)
