"""Packed data: it comes back as it was, and what it has several times stands in the page once."""

import json

import pytest

from tlsmem.report.packed_json import deflate_text, inflate_text, pack_json, share_parts, unpack_json

LONG = "a text that is long enough to be a part"
ROW = [1, 2.5, None, True, LONG, {"bytes": 12_345_678}]


@pytest.mark.parametrize(
    "value",
    [[ROW, ROW, {"a": ROW, "b": [ROW]}], ["@", "@0", "@@", {"@1": "@1"}], [1, 1.0, True, "1"], LONG, None, {}, []],
    ids=["repeated", "marks", "alike", "text", "none", "empty", "list"],
)
def test_a_value_comes_back_as_it_was(value):
    assert json.dumps(unpack_json(pack_json(value))) == json.dumps(value)


def test_what_is_repeated_stands_there_once_and_short_values_where_they_are():
    text = json.dumps(share_parts([ROW, [ROW, LONG], "short", "short"]))
    assert text.count(LONG) == text.count("12345678") == 1
    assert text.count("short") == 2


def test_a_part_may_have_parts():
    outer = [LONG, LONG + "."]
    found = share_parts([outer, outer, LONG])
    assert found == {"parts": [LONG, ["@0", LONG + "."]], "value": ["@1", "@1", "@0"]}


def test_a_number_that_json_has_not_is_refused():
    with pytest.raises(ValueError, match="not JSON compliant"):
        pack_json([float("nan")])


@pytest.mark.parametrize("length", range(9))
def test_deflated_text_has_no_sign_that_html_escapes(length):
    text = "".join(chr(300 + 7919 * at % 5000) for at in range(1000 + length))
    packed = deflate_text(text)
    assert inflate_text(packed) == text
    assert not set(packed) & set("&<>\"'")
