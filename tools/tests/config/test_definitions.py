"""Definitions: those of the repository hold, and a wrong one is a sentence."""

import pytest
from packaging.licenses import canonicalize_license_expression

from tlsmem.base.errors import UserError
from tlsmem.build import c_stack, offers
from tlsmem.config import definitions
from tlsmem.config.campaigns import Campaign
from tlsmem.config.suite_variants import split_variant


def test_the_definitions_of_the_repository_hold():
    assert "null@c" in definitions.stacks()
    assert definitions.allocators()["system"].library is None
    assert definitions.suites()["tls13-rsa-aes256"].model_dump(include={"auth", "tickets", "store", "options"}) == {
        "auth": "server",
        "tickets": 0,
        "store": "off",
        "options": "default",
    }
    for campaign in definitions.campaigns().values():
        assert set(campaign.stacks) <= set(definitions.stacks())
        assert {split_variant(suite)[0] for suite in campaign.suites} <= set(definitions.suites())
        assert set(campaign.allocators) <= set(definitions.allocators())


def test_licences_are_spdx_expressions():
    for name, stack in definitions.stacks().items():
        if not stack.prefix:
            assert canonicalize_license_expression(stack.licence) == stack.licence, name


def test_what_stacks_refuse_are_features_of_suites():
    features = frozenset({"low-memory", "drop-peer-chain"}).union(
        *(suite.features for suite in definitions.suites().values())
    )
    for name, stack in definitions.stacks().items():
        assert {word for entry in stack.expect.refuses or () for word in entry.split()} <= features, name


def test_expectations_inherit_key_by_key(tmp_path, monkeypatch):
    (tmp_path / "stacks.toml").write_text(
        f'{C}driver = "a"\n["a@1".expect]\nanother_root = ["r"]\nrefuses = ["tickets"]\nmost_tickets = 2\n'
        '["a@2"]\nlike = "a@1"\n["a@2".expect]\nrefuses = []\n'
        f'{C.replace("a@1", "b@1")}driver = "b"\n["b@1".expect]\nlike = "a@2"\nmost_tickets = 3\n'
        '["b@2"]\nlike = "b@1"\n'
    )
    monkeypatch.setattr(definitions, "DEFINITIONS", tmp_path)
    found = {name: stack.expect for name, stack in definitions.stacks().items()}
    assert {name: (one.another_root, one.refuses, one.most_tickets) for name, one in found.items()} == {
        "a@1": (["r"], ["tickets"], 2),
        "a@2": (["r"], [], 2),
        "b@1": (["r"], [], 3),
        "b@2": (["r"], [], 3),
    }


@pytest.mark.parametrize(
    ("suite", "entry"),
    [
        ({}, None),
        ({"tickets": 2}, 'refuses = "tickets full"'),
        ({"tickets": 2, "resume": "on"}, None),
        ({"auth": "mutual"}, 'refuses = "mutual"'),
    ],
)
def test_a_suite_is_refused_that_has_every_word_of_an_entry(suite, entry):
    mine = definitions.Suite(protocol="TLSv1.3", cipher="C", group="G", certs="rsa-2048", **suite)
    assert definitions.Expectations(refuses=["tickets full", "TLSv1.2", "mutual"]).refusal_of(mine.features) == entry


SUITE = '[mine]\nprotocol = "TLSv1.3"\ncipher = "C"\ngroup = "G"\ncerts = "rsa-2048"\n'


@pytest.mark.parametrize(
    ("text", "what"),
    [
        (SUITE + "tickts = 2\n", "[mine]: tickts: no such key"),
        (SUITE + 'tickets = "2"\n', "[mine]: tickets: must be library, or a number"),
        (SUITE + 'auth = "client"\n', "[mine]: auth: Input should be 'server', 'mutual' or 'none'"),
        (SUITE.replace("rsa-2048", "rsa-204"), "[mine]: certs: memtest/certs has no 'rsa-204'; did you mean rsa-2048"),
        (SUITE.replace("rsa-2048", "../certs/rsa-2048"), "[mine]: certs: memtest/certs has no '../certs/rsa-2048'"),
        (SUITE.replace("rsa-2048", "x"), "[mine]: certs: memtest/certs has no 'x'; there are: none, ecdsa-p256, "),
        ('[mine]\nprotocol = "TLSv1.3"\n', "[mine]: cipher: Field required"),
        ("mine = 3\n", "[mine]: Input should be a valid dictionary"),
        ("[mine\n", "Expected ']'"),
    ],
)
def test_a_wrong_suite_is_a_sentence_with_file_table_and_key(tmp_path, monkeypatch, text, what):
    file = tmp_path / "suites.toml"
    file.write_text(text)
    monkeypatch.setattr(definitions, "DEFINITIONS", tmp_path)
    with pytest.raises(UserError) as stop:
        definitions.suites()
    assert str(stop.value).startswith(f"{file}: ")
    assert what in str(stop.value)


def test_all_are_checked_at_once(tmp_path, monkeypatch):
    for kind in "stacks", "suites", "allocators", "cpus", "campaigns":
        (tmp_path / f"{kind}.toml").touch()
    monkeypatch.setattr(definitions, "DEFINITIONS", tmp_path)
    definitions.check_definitions()
    (tmp_path / "suites.toml").write_text(SUITE + 'auth = "client"\n')
    with pytest.raises(UserError, match="auth"):
        definitions.check_definitions()


@pytest.mark.parametrize("fraction", ["2", "0", "1/0", "half", "-1/2"])
def test_sessions_of_a_campaign_are_fractions_of_its_n(fraction):
    mem = definitions.campaigns()["mem"].model_dump()
    with pytest.raises(ValueError, match=fraction):
        Campaign.model_validate(mem | {"sessions": [fraction]})


C = '["a@1"]\nharness = "c"\nlicence = "MIT"\n'
RUST = C.replace('"c"', '"rust"')
GO = C.replace('"c"', '"go"')
SOURCE = f'["a@1".source]\ncrate = "a"\nversion = "1"\nsha256 = "{"0" * 64}"\ntree = "a"\n'
THERE = "known: {source}, {build}, {cflags}, {maps}, {cc}, {cxx}, {uses}, {jobs}"


@pytest.mark.parametrize(
    ("kind", "text", "what"),
    [
        ("stacks", C, "driver is missing; a stack with harness = 'c' needs it"),
        ("stacks", RUST + 'binary = "b"\n', "manifest is missing; a stack with harness = 'rust' needs it"),
        ("stacks", RUST + 'manifest = "m"\n', "binary is missing; a stack with harness = 'rust' needs it"),
        ("stacks", GO + 'manifest = "m"\n', "binary is missing; a stack with harness = 'go' needs it"),
        ("stacks", C + 'driver = "a"\nsteps = ["make"]\n', "source is missing; steps need it"),
        ("stacks", C + 'driver = "a"\npkg_config = "a"\n', "package is missing; pkg_config needs it"),
        ("stacks", C + f'driver = "a"\nsteps = [""]\n{SOURCE}', "steps.0: an empty command"),
        ("stacks", C + f'driver = "a"\nsteps = ["x \'"]\n{SOURCE}', "is not a command: No closing quotation"),
        ("stacks", C + f'driver = "a"\nsteps = ["x {{"]\n{SOURCE}', "'x {' is not a command: Single '{'"),
        ("stacks", C + f'driver = "a"\nsteps = ["x {{job}}"]\n{SOURCE}', "unknown placeholder {job}; " + THERE),
        ("stacks", C + f'driver = "a"\nsteps = ["x {{}}"]\n{SOURCE}', "unknown placeholder {}; " + THERE),
        (
            "stacks",
            C + f'driver = "a"\n{SOURCE}package = "b"\n',
            "source: needs one of crate, debian, package and",
        ),
        ("stacks", C + f'driver = "a"\n{SOURCE}suite = "b"\n', "source: debian and package need suite"),
        ("stacks", C + f'driver = "a"\nsteps = ["x {{jobs:3}}"]\n{SOURCE}', "the placeholder {jobs} has no format"),
        ("stacks", C + 'driver = "a"\n["a@1".expect]\nrefuse = []\n', "[a@1]: expect.refuse: no such key"),
        ("stacks", C + 'driver = "a"\n["a@1".expect]\nrefuses = [""]\n', "a suite to refuse has no words"),
        ("stacks", C + 'driver = "a"\n["a@1".expect]\nnot_sealed = ["des"]\n', "expect.not_sealed.0: Input should be"),
        ("allocators", '[mine]\nlibrary = "l"\n', "[mine]: package is missing; library needs it"),
        ("allocators", '[mine]\npackage = "p"\n', "[mine]: library is missing; package needs it"),
        ("allocators", '[mine]\npackage = 1\nlibrary = "l"\n', "[mine]: package: Input should be a valid string"),
    ],
)
def test_what_could_not_be_built_is_a_sentence(tmp_path, monkeypatch, kind, text, what):
    (tmp_path / f"{kind}.toml").write_text(text)
    monkeypatch.setattr(definitions, "DEFINITIONS", tmp_path)
    with pytest.raises(UserError) as stop:
        getattr(definitions, kind)()
    assert str(stop.value).startswith(f"{tmp_path / kind}.toml: [") and what in str(stop.value)
    assert "\n" not in str(stop.value)


MEMORY = {"stacks": '["null@c"]', "suites": '["none"]', "allocators": '["system"]', "windows": "[1]"}
MEMORY |= {"scenario": '"memory"', "sessions": '["1"]', "n": "2"}
TRANSFER = {name: MEMORY[name] for name in ("stacks", "suites", "allocators")}
TRANSFER |= {"scenario": '"throughput"', "sizes": "[1]"}
HANDSHAKE = {**TRANSFER, "scenario": '"handshake"'}
del HANDSHAKE["sizes"]


def campaign(keys: dict[str, str], **more: str) -> str:
    return "[mine]\n" + "".join(f"{key} = {value}\n" for key, value in {**keys, **more}.items())


@pytest.mark.parametrize(
    ("kind", "text", "what"),
    [
        ("campaigns", campaign(MEMORY, heaps="2"), "[mine]: heaps: no such key"),
        ("campaigns", campaign(MEMORY, heap='"some"'), "[mine]: heap.constrained-int: Input should be a valid integer"),
        ("campaigns", campaign(MEMORY, repeats="true"), "[mine]: repeats: Input should be a valid integer"),
        ("campaigns", campaign(MEMORY, sessions="[1, 2]"), "[mine]: sessions.0: Input should be a valid string"),
        ("campaigns", campaign(MEMORY, stacks='"null@c"'), "[mine]: stacks: Input should be a valid list"),
        ("campaigns", campaign(MEMORY, windows='[1, "every"]'), "[mine]: windows.1"),
        ("campaigns", campaign(MEMORY, scenario='"speed"'), "[mine]: scenario: Input should be 'memory'"),
        ("campaigns", campaign(MEMORY, sizes="[1]"), "[mine]: sizes: no such key"),
        ("campaigns", campaign(HANDSHAKE, n="2"), "[mine]: n: no such key"),
        ("campaigns", campaign(HANDSHAKE, threads='"all"'), "[mine]: threads"),
        ("campaigns", campaign(TRANSFER, sizes='["16"]'), "[mine]: sizes.0: Input should be a valid integer"),
        ("suites", SUITE + "tickets = 1.0\n", "[mine]: tickets: must be library, or a number"),
        ("stacks", C + 'driver = "d"\nsource = "x"\n', "[a@1]: source: Input should be a valid dictionary"),
        ("stacks", C + f'driver = "d"\n{SOURCE}sum = "x"\n', "[a@1]: source.sum: no such key"),
    ],
)
def test_a_wrong_key_or_type_names_file_table_and_key(tmp_path, monkeypatch, kind, text, what):
    for known in (campaign(MEMORY), campaign(TRANSFER), campaign(HANDSHAKE)):
        (tmp_path / "campaigns.toml").write_text(known)
        monkeypatch.setattr(definitions, "DEFINITIONS", tmp_path)
        definitions.campaigns()
    (tmp_path / f"{kind}.toml").write_text(text)
    with pytest.raises(UserError) as stop:
        getattr(definitions, kind)()
    assert str(stop.value).startswith(f"{tmp_path / kind}.toml: {what}"), stop.value
    assert "\n" not in str(stop.value)


def test_what_steps_are_filled_with_is_what_they_may_ask_for():
    filled = dict.fromkeys(definitions.PLACEHOLDERS, "x")
    assert c_stack.split_step(" ".join(f"{{{one}}}" for one in definitions.PLACEHOLDERS), **filled) == ["x"] * len(
        filled
    )


def test_a_further_source_is_a_placeholder_of_the_steps():
    source = {"crate": "a", "version": "1", "sha256": "0" * 64}
    fields = {"harness": "c", "driver": "d", "licence": "MIT", "source": source, "steps": ["make -C {below}"]}
    assert "also" not in definitions.Stack(**fields | {"steps": []}).how_built, "or each harness were built again"
    assert "package" not in definitions.Stack(**fields | {"steps": []}).how_built["source"], "the same"
    assert "also" in definitions.Stack(**fields, also={"below": source}).how_built
    with pytest.raises(ValueError, match=r"unknown placeholder \{below\}"):
        definitions.Stack(**fields)


def test_stateless_is_a_feature_where_tickets_hold_the_session():
    suites = definitions.suites()
    stateless = {name for name in suites if definitions.STATELESS in suites[name].features}
    assert {"tls12-rsa-aes256-ticket", "tls13-rsa-aes256-ticket"} <= stateless
    assert not {"tls13-rsa-aes256", "tls12-rsa-aes256-id", "tls13-rsa-aes256-id"} & stateless


def test_a_tree_is_the_source_of_no_table():
    """A tree that a command was given has no package, and a table cannot name one."""
    keys = definitions.stacks()["openssl@3.5.5"].model_dump(exclude={"source"})
    tree = {"library": "openssl", "tree": 40 * "a"}
    stack = definitions.TreeStack.model_validate(keys | {"source": tree})
    assert isinstance(stack.source, definitions.TreeSource) and stack.pinned is None
    assert offers.shipped_as("openssl", {"openssl@git-aaaaaaa": stack}) == {}
    with pytest.raises(ValueError, match=r"source\.library"):
        definitions.Stack.model_validate(keys | {"source": tree})
