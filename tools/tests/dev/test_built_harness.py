"""Which harnesses tests run: those that are built, and of these the ones that --stacks names."""

import pytest

from tests.support import built_harness

OPENSSL, RING = "openssl@3.5.5", "rustls+ring@0.23.46"


@pytest.fixture(autouse=True)
def built(tmp_path, monkeypatch):
    """Two stacks and a null stack are built, and --stacks names nothing yet."""
    (tmp_path / "build/harness").mkdir(parents=True)
    for stack in (OPENSSL, RING, "null@c"):
        (tmp_path / "build/harness" / stack).touch()
    monkeypatch.setattr(built_harness, "ROOT", tmp_path)
    monkeypatch.setattr(built_harness, "tried", set())


def test_without_names_all_that_is_built_is_tried():
    assert [built_harness.find(stack).name for stack in (OPENSSL, RING, "null@c")] == [OPENSSL, RING, "null@c"]


def test_what_is_not_built_is_skipped_with_the_command_that_builds_it():
    with pytest.raises(pytest.skip.Exception, match=r"^null@go is not built: tools/tls-memtest build null@go$"):
        built_harness.find("null@go")


def test_of_many_stacks_those_are_chosen_that_are_tried_and_one_where_none_is():
    assert built_harness.choose([RING, "null@go", OPENSSL]) == [RING, OPENSSL]
    built_harness.tried.add(OPENSSL)
    assert built_harness.choose(iter([RING, "null@go", OPENSSL])) == [OPENSSL]
    assert built_harness.choose([RING, "null@go"]) == [RING]


def test_of_what_is_built_only_the_named_stacks_and_the_null_stacks_are_tried():
    built_harness.tried.add(OPENSSL)
    assert [built_harness.find(stack).name for stack in (OPENSSL, "null@c")] == [OPENSSL, "null@c"]
    with pytest.raises(pytest.skip.Exception, match=r"is not tried: make check-stacks, or make check STACKS=rustls"):
        built_harness.find(RING)
