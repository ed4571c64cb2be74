"""Configurations with more of a setting: as many as were asked for, and what cannot be had is refused."""

from pathlib import Path

import pytest

from tlsmem.config import choices
from tlsmem.live.servers import HAPROXY_SERVER, NGINX_SERVER, ServerError, Setup
from tlsmem.live.settings import NAMES, SETTINGS, Varied, vary

FILES = {"nginx": "nginx.conf", "haproxy": "haproxy.cfg"}
SERVERS = {"nginx": NGINX_SERVER, "haproxy": HAPROXY_SERVER}
LINES = {  # what a configuration has once for each
    ("nginx", "certificates"): "server_name name-",
    ("nginx", "backends"): "proxy_pass https://",
    ("nginx", "ticket-keys"): "ssl_session_ticket_key",
    ("haproxy", "backends"): " ssl verify none",
}


def configured(server: str, setting: str, size: int, folder: Path, kind: str | None = None) -> tuple[str, list[str]]:
    folder.mkdir(exist_ok=True)
    varied = Varied(SERVERS[server], SETTINGS[server][setting], size, kind)
    words = varied.configure(Setup(folder, SERVERS[server].ports, 100, "TLSv1.3"))
    return (folder / FILES[server]).read_text(), words


def test_the_names_are_those_of_the_option():
    assert set(NAMES) == set(choices.SETTINGS)
    assert set(SETTINGS) == set(choices.CONFIGURED_SERVERS)


@pytest.mark.parametrize(("server", "setting"), LINES)
def test_a_configuration_has_as_many_as_were_asked_for(server, setting, tmp_path):
    text, _ = configured(server, setting, 7, tmp_path, "ecdsa-p256")
    assert text.count(LINES[server, setting]) == 7


def test_each_certificate_of_haproxy_stands_in_its_list_with_its_name(tmp_path):
    text, words = configured("haproxy", "certificates", 3, tmp_path, "ecdsa-p256")
    lines = (tmp_path / "certificates").read_text().splitlines()
    assert f"crt-list {tmp_path / 'certificates'} " in text
    assert lines == [f"{tmp_path}/name-{number:05d}.example.pem name-{number:05d}.example" for number in (1, 2, 3)]
    assert "-W" in words and "-db" not in words


@pytest.mark.parametrize(
    ("server", "setting", "line"),
    [
        ("nginx", "worker-connections", "worker_connections 700;"),
        ("nginx", "session-cache", "ssl_session_cache shared:sessions:700m;"),
        ("haproxy", "session-cache", "    tune.ssl.cachesize 700\n"),
        ("haproxy", "worker-connections", "    maxconn 700\n"),
    ],
)
def test_a_number_stands_in_its_line(server, setting, line, tmp_path):
    assert configured(server, setting, 700, tmp_path)[0].count(line) == 1


@pytest.mark.parametrize("server", SERVERS)
def test_as_many_roots_are_trusted_as_were_asked_for(server, tmp_path):
    assert str(tmp_path / "roots") in configured(server, "client-roots", 5, tmp_path)[0]
    assert (tmp_path / "roots").read_text().count("BEGIN CERTIFICATE") == 5


def test_a_profile_is_of_one_process(tmp_path):
    varied = Varied(NGINX_SERVER, SETTINGS["nginx"]["backends"], 1)
    varied.configure_alone(Setup(tmp_path, NGINX_SERVER.ports, 100, "TLSv1.3"))
    assert (tmp_path / "nginx.conf").read_text().startswith("master_process off;\n")
    other = Varied(HAPROXY_SERVER, SETTINGS["haproxy"]["backends"], 1)
    assert "-db" in other.configure_alone(Setup(tmp_path, HAPROXY_SERVER.ports, 100, "TLSv1.3"))


def test_sizes_are_three_unless_others_are_asked_for():
    assert [one.size for one in vary(NGINX_SERVER, ["backends"], None)] == [20, 100, 200]
    assert [one.size for one in vary(NGINX_SERVER, ["backends"], [1, 2])] == [1, 2]


@pytest.mark.parametrize(
    ("server", "names", "sizes", "sentence"),
    [
        (HAPROXY_SERVER, ["ticket-keys"], None, "haproxy has no ticket-keys; it has: certificates, session-cache"),
        (NGINX_SERVER, ["client-roots"], [150], "150 client-roots: there are 149 at most to configure"),
    ],
)
def test_what_cannot_be_configured_is_refused(server, names, sizes, sentence):
    with pytest.raises(ServerError, match=sentence) as refused:
        vary(server, names, sizes)
    assert refused.value.status == 2
