"""A wrong key or type in memtest/*.toml is found with the standard library alone, and no other than pydantic finds."""

import types
import typing

import pytest

from tlsmem.config import definitions, option_check, toml_keys


@pytest.mark.parametrize(
    ("kind", "text", "what"),
    [
        ("campaigns", "[mem]\nheaps = 2\n", "[mem]: there is no key heaps; there are: scenario, "),
        ("campaigns", '[mem]\nheap = "some"\n', '[mem]: heap must be a whole number or "all"'),
        ("campaigns", "[mem]\nrepeats = true\n", "[mem]: repeats must be a whole number"),
        ("campaigns", "[mem]\nsessions = [1, 2]\n", "[mem]: sessions must be a list of text"),
        ("campaigns", '[mem]\nstacks = "null@c"\n', "[mem]: stacks must be a list of text"),
        ("campaigns", '[mem]\nwindows = [1, "every"]\n', '[mem]: windows must be a list of whole numbers or "all"'),
        ("campaigns", '[mine]\nscenario = "speed"\n', "[mine]: scenario must be one of memory, throughput, handshake"),
        ("campaigns", '[t]\nscenario = "handshake"\nn = 2\n', "[t]: there is no key n with scenario = handshake; "),
        ("campaigns", '[t]\nscenario = "memory"\nsizes = [1]\n', "[t]: there is no key sizes with scenario = memory; "),
        ("campaigns", '[t]\nscenario = "throughput"\nsizes = ["16"]\n', "[t]: sizes must be a list of whole numbers"),
        (
            "campaigns",
            '[t]\nscenario = "handshake"\nthreads = "all"\n',
            "[t]: threads must be a list of whole",
        ),
        ("suites", "[mine]\ntickets = 1.0\n", "[mine]: tickets must be a whole number"),
        ("suites", "mine = 3\n", "[mine] must be a table"),
        ("allocators", "[mine]\nlibrary = 1\n", "[mine]: library must be text"),
        ("stacks", '["a@1"]\nsource = "x"\n', "[a@1]: source must be a table"),
        ("stacks", '["a@1"]\nexpect = "x"\n', "[a@1]: expect must be a table"),
        ("stacks", '["a@1".expect]\nrefuse = ["x"]\n', "[a@1]: expect: there is no key refuse; there are: missing_cl"),
        ("stacks", '["a@1".expect]\nlike = "b@1"\n', "[a@1]: like: there is no table b@1"),
        ("stacks", '["a@1".source]\nsum = "x"\n', "[a@1]: source: there is no key sum; there are: crate, "),
    ],
)
def test_a_wrong_key_or_type_names_file_table_and_key(tmp_path, monkeypatch, kind, text, what):
    for other in "stacks", "suites", "allocators", "campaigns", "buckets":
        (tmp_path / f"{other}.toml").touch()
    (tmp_path / f"{kind}.toml").write_text(text)
    monkeypatch.setattr(option_check, "DEFINITIONS", tmp_path)
    with pytest.raises(ValueError) as refused:
        option_check.check_options({})
    assert str(refused.value).startswith(f"memtest/{kind}.toml: {what}")


def in_words(annotation):
    """A type of definitions.py as toml_keys.py says it."""
    if typing.get_origin(annotation) is list:
        within = in_words(typing.get_args(annotation)[0])
        return {
            toml_keys.TEXT: toml_keys.TEXTS,
            toml_keys.WIDTH: toml_keys.WIDTHS,
            toml_keys.NUMBER: toml_keys.SIZES,
        }.get(within, within)
    if typing.get_origin(annotation) is typing.Annotated:
        return in_words(typing.get_args(annotation)[0])
    if typing.get_origin(annotation) in (typing.Union, types.UnionType):
        parts = {in_words(part) for part in typing.get_args(annotation) if part is not types.NoneType}
        several = {(toml_keys.NUMBER, "all"): toml_keys.WIDTH, (toml_keys.SIZES, "cpus"): toml_keys.THREADS}
        return parts.pop() if len(parts) == 1 else several.get(tuple(sorted(parts)), parts)
    if typing.get_origin(annotation) is typing.Literal:
        choices = typing.get_args(annotation)
        return choices[0] if choices in (("all",), ("cpus",)) else toml_keys.TEXT
    plain = {str: toml_keys.TEXT, int: toml_keys.NUMBER, bool: toml_keys.FLAG}
    tables = dict.fromkeys((definitions.Source, definitions.Expectations), toml_keys.TABLE)
    return (plain | tables)[annotation]


@pytest.mark.parametrize(
    ("kind", "model"),
    [
        ("stacks", definitions.Stack),
        ("source", definitions.Source),
        ("expect", definitions.Expectations),
        ("suites", definitions.Suite),
        ("allocators", definitions.Allocator),
        ("campaigns", definitions.Campaign),
        ("timed", definitions.TimedCampaign),
    ],
)
def test_keys_and_types_are_those_of_the_definitions(kind, model):
    hints = typing.get_type_hints(model, include_extras=True)
    assert toml_keys.key_types(kind) == {key: in_words(hints[key]) for key in model.model_fields}
