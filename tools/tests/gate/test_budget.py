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


SENT = {"role": "server", "meter": "send", "phase": "transfer", "limit": "1 MiB/s"}
WRONG = [
    ({"stack": ""}, "stack"),
    ({"against": ""}, "against"),
    ({"stack": 7}, "stack"),
    ({"suite": "tls13-rsa-aes25"}, "suite"),
    ({"suite": []}, "suite"),
    (SENT | {"suite": "tls13-rsa-aes256-ticket"}, "suite"),
    ({"role": "clint"}, "role"),
    ({"role": ["client", "process"]}, "role"),
    ({"phase": "establishd"}, "phase"),
    ({"phase": "client 0"}, "phase"),
    ({"phase": "contexts"}, "phase"),
    ({"meter": "heep"}, "meter"),
    ({"meter": "rest"}, "meter"),
    ({"meter": "allocations", "phase": "peak"}, "phase"),
    ({"meter": "handshakes", "limit": "1/s"}, "phase"),
    ({"limit": 52}, "limit"),
    ({"limit": "+x%"}, "limit"),
    ({"limit": "-5 B"}, "limit"),
    ({"limit": "0 KiB"}, "limit"),
    ({"limit": "0 B", "meter": "rss", "phase": "closed"}, "limit"),
    ({"limit": "14 blocks", "meter": "rss"}, "limit"),
    ({"limmit": "52 KiB"}, "limmit"),
]
STALL = {"stack": "openssl@3.5.5", "suite": "tls13-rsa-aes256", "meter": "amplification", "limit": "100x"}
WRONG_OF_SCENARIO = [
    ({}, "point is missing"),
    ({"point": "announced-helo"}, "unknown point"),
    ({"point": []}, "point is missing"),
    ({"point": 7}, "unknown point 7"),
    ({"point": "silent", "role": "client"}, "role: "),
    ({"point": "silent", "phase": "established"}, "phase: "),
    ({"point": "silent", "limit": "52 KiB"}, "limit: "),
    ({"point": "silent", "meter": "heap", "role": "server", "phase": "created", "limit": "1 KiB"}, "point: "),
    ({"point": "silent", "settings": "silent"}, "settings: "),
    ({"pint": "silent"}, "pint: "),
]
UNREADABLE = {  # the text, and the key or table that is named
    "odd sessions": ("sessions = 21\n" + text_of(ONE), "sessions: "),
    "few sessions": ("sessions = 2\n" + text_of(ONE), "sessions: "),
    "no repeats": ("repeats = 0\n" + text_of(ONE), "repeats: "),
    "unknown key": ("base = 'x'\n" + text_of(ONE), "base: "),
    "no baseline": ("baseline = ''\n" + text_of(ONE), "baseline: "),
    "nothing": ("", "budget: "),
    "no budgets": ("budget = []", "budget: "),
    "a number": ("budget = 7", "budget: "),
    "a list of a number": ("budget = [7]", "[[budget]] 1: "),
    "nested": ("x = " + "[" * 20_000, ""),
    "no text": (b"\xff\xfe", ""),
}


@pytest.mark.parametrize("changes, key", WRONG, ids=json.dumps)
def test_what_a_table_cannot_say_is_a_sentence_that_names_it(tmp_path, changes, key, snapshot):
    with pytest.raises(BudgetError) as error:
        spread(tmp_path, text_of(ONE, ONE | changes))
    assert str(error.value) == snapshot
    assert str(error.value).startswith(f"{tmp_path}/BUDGET.toml: [[budget]] 2: {key}: ")


@pytest.mark.parametrize("changes, key", WRONG_OF_SCENARIO, ids=json.dumps)
def test_what_a_meter_of_another_scenario_cannot_be_of_is_a_sentence(tmp_path, changes, key, snapshot):
    with pytest.raises(BudgetError) as error:
        spread(tmp_path, text_of(STALL | changes))
    assert str(error.value) == snapshot
    assert str(error.value).startswith(f"{tmp_path}/BUDGET.toml: [[budget]] 1: {key}")


@pytest.mark.parametrize("key", ["meter", "role", "phase"])
def test_what_a_table_lacks_is_named(tmp_path, key, snapshot):
    with pytest.raises(BudgetError) as error:
        spread(tmp_path, text_of(ONE, {name: value for name, value in ONE.items() if name != key}))
    assert str(error.value) == snapshot
    assert str(error.value).startswith(f"{tmp_path}/BUDGET.toml: [[budget]] 2: {key}: ")


@pytest.mark.parametrize("name", UNREADABLE)
def test_what_the_file_cannot_say_is_a_sentence_that_names_it(tmp_path, name, snapshot):
    text, key = UNREADABLE[name]
    with pytest.raises(BudgetError) as error:
        spread(tmp_path, text)
    assert str(error.value) == snapshot
    assert str(error.value).startswith(f"{tmp_path}/BUDGET.toml: {key}")


@pytest.mark.parametrize("text, why", [("x = ", "Invalid value"), ("x = " + "9" * 20_000, "Exceeds the limit")])
def test_what_python_says_of_a_file_that_is_no_toml_is_handed_on(tmp_path, text, why):
    with pytest.raises(BudgetError) as error:
        spread(tmp_path, text)
    assert str(error.value).startswith(f"{tmp_path}/BUDGET.toml: is no TOML: {why}")


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


def test_a_point_says_whose_sessions_wait_and_a_list_is_a_budget_for_each(tmp_path):
    found = spread(tmp_path, text_of(STALL | {"point": ["announced-hello", "announced-server-hello"]}))
    assert [(one.place.settings, one.place.role, one.place.phase) for one in found] == [
        ((("point", "announced-hello"),), "server", "stalled"),
        ((("point", "announced-server-hello"),), "client", "stalled"),
    ]
    words = "tls13-rsa-aes256: server session, stalled, amplification, point announced-hello"
    assert str(found[0].place) == words


def test_nothing_left_is_a_limit_where_no_session_is(tmp_path):
    (found,) = spread(tmp_path, text_of(ONE | {"phase": "closed", "limit": "0 B"}))
    assert found.limit.threshold(None) == 0


VALUES = some.recursive(
    some.text(max_size=8) | some.integers(-(2**70), 2**70) | some.floats(allow_nan=False) | some.booleans(),
    lambda inner: some.lists(inner, max_size=3),
    max_leaves=6,
)
KEYS = some.sampled_from([*ONE, "against", "role", "point"]) | some.from_regex("[a-z]{1,8}", fullmatch=True)
SOUND = text_of(ONE, baseline="base")


def inf(text: str) -> str:
    """As TOML has it."""
    return text.replace("Infinity", "inf")


@pytest.mark.thorough
@given(some.lists(some.dictionaries(KEYS, VALUES, max_size=7), max_size=3), some.dictionaries(KEYS, VALUES, max_size=2))
def test_any_tables_are_budgets_or_a_sentence(tmp_path_factory, entries, head):
    read_or_refused(tmp_path_factory, inf(text_of(*(ONE | one for one in entries), **head)).encode(errors="replace"))


@pytest.mark.thorough
@given(some.binary(max_size=40) | some.text(max_size=40).map(str.encode), some.integers(0, len(SOUND)))
def test_any_file_is_budgets_or_a_sentence(tmp_path_factory, content, at):
    read_or_refused(tmp_path_factory, SOUND[:at].encode() + content + SOUND[at:].encode())
    read_or_refused(tmp_path_factory, content)


def read_or_refused(folders, content: bytes) -> None:
    try:
        spread(folders.getbasetemp(), content)
    except BudgetError as error:
        assert "BUDGET.toml: " in str(error)
