"""Definitions: those of the repository hold, and a wrong one is a sentence."""

import pytest

import definitions


def test_the_definitions_of_the_repository_hold():
    assert "null@c" in definitions.stacks()
    assert definitions.allocators()["system"].library is None
    assert definitions.suites()["tls13-rsa-aes256"].model_dump(include={"auth", "tickets", "store", "knobs"}) == {
        "auth": "server",
        "tickets": 0,
        "store": "off",
        "knobs": "default",
    }
    for campaign in definitions.campaigns().values():
        assert set(campaign.stacks) <= set(definitions.stacks())
        assert set(campaign.suites) <= set(definitions.suites())
        assert set(campaign.allocators) <= set(definitions.allocators())


SUITE = '[mine]\nprotocol = "TLSv1.3"\ncipher = "C"\ngroup = "G"\ncerts = "rsa-2048"\n'


@pytest.mark.parametrize(
    ("text", "what"),
    [
        (SUITE + "tickts = 2\n", "[mine]: tickts: Extra inputs are not permitted"),
        (SUITE + 'tickets = "2"\n', "[mine]: tickets: Input should be a valid integer"),
        (SUITE + 'auth = "client"\n', "[mine]: auth: Input should be 'server', 'mutual' or 'none'"),
        ('[mine]\nprotocol = "TLSv1.3"\n', "[mine]: cipher: Field required"),
        ("mine = 3\n", "[mine]: Input should be a valid dictionary"),
        ("[mine\n", "Expected ']'"),
    ],
)
def test_a_wrong_suite_is_a_sentence_with_file_table_and_key(tmp_path, monkeypatch, text, what):
    file = tmp_path / "suites.toml"
    file.write_text(text)
    monkeypatch.setattr(definitions, "DEFINITIONS", tmp_path)
    with pytest.raises(SystemExit) as stop:
        definitions.suites()
    assert str(stop.value).startswith(f"{file}: ")
    assert what in str(stop.value)


def test_all_are_checked_at_once(tmp_path, monkeypatch):
    for kind in "stacks", "suites", "allocators", "campaigns":
        (tmp_path / f"{kind}.toml").touch()
    monkeypatch.setattr(definitions, "DEFINITIONS", tmp_path)
    definitions.check()
    (tmp_path / "suites.toml").write_text(SUITE + 'auth = "client"\n')
    with pytest.raises(SystemExit, match="auth"):
        definitions.check()


@pytest.mark.parametrize("fraction", ["2", "0", "1/0", "half", "-1/2"])
def test_sessions_of_a_campaign_are_fractions_of_its_n(fraction):
    mem = definitions.campaigns()["mem"].model_dump()
    with pytest.raises(ValueError, match=fraction):
        definitions.Campaign.model_validate(mem | {"sessions": [fraction]})
