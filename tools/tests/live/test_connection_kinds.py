"""Options of connections over TLS: which servers take them, and which runs they change."""

from argparse import Namespace

import pytest

from tlsmem.base.errors import UserError
from tlsmem.cli.live_campaign import find_server, live_runs
from tlsmem.live.live_run import digest_configuration
from tlsmem.live.servers import HAPROXY_SERVER, NGINX_SERVER, Setup

NONE = {"tls12": False, "mtls": False, "resumption": False, "ktls": False, "hollow": False}
USUAL = NONE | {"sites": False, "n": [100], "window": [10], "waves": 0, "idle": 0.0, "settle": 0.0}


@pytest.mark.parametrize(
    ("name", "option", "sentence"),
    [
        ("mosquitto", "mtls", "--mtls: mosquitto asks for no client certificates as it is configured here"),
        ("go", "mtls", "--mtls: go asks for no client certificates as it is configured here"),
        ("mosquitto", "resumption", "--resumption: clients of mosquitto make new sessions only"),
    ],
)
def test_a_server_that_cannot_is_refused(name, option, sentence):
    with pytest.raises(UserError, match=sentence) as refused:
        find_server(Namespace(**NONE | {option: True}), name)
    assert refused.value.status == 77


def test_plain_connections_are_the_same_whatever_is_asked_for():
    usual = live_runs(Namespace(**USUAL), NGINX_SERVER)
    varied = live_runs(Namespace(**USUAL | {"tls12": True, "mtls": True, "resumption": True}), NGINX_SERVER)
    assert [one for one in usual if one.transport == "plain"] == [one for one in varied if one.transport == "plain"]
    over_tls = [one for one in varied if one.transport == "tls"]
    assert {(one.protocol, one.mutual, one.resumed) for one in over_tls} == {("TLSv1.2", True, True)}
    assert str(over_tls[0]) == "nginx TLSv1.2, mutual, resumed 100 connections window 10 rss"


def test_call_sites_are_of_the_connections_that_are_asked_for():
    """Not those of plain TLS 1.3 connections, whatever the options say."""
    words = {"sites": True, "tls12": True, "mtls": True, "resumption": True, "ktls": True}
    (one,) = live_runs(Namespace(**USUAL | words), NGINX_SERVER)
    assert (one.meter, one.protocol, one.mutual, one.resumed, one.ktls) == ("sites", "TLSv1.2", True, True, True)


@pytest.mark.parametrize(
    ("server", "line"),
    [(NGINX_SERVER, "ssl_verify_client on;"), (HAPROXY_SERVER, "client-root.pem verify required ssl-min-ver TLSv1.3")],
)
def test_client_certificates_are_required_where_that_is_asked_for(server, line, tmp_path):
    for mutual in (True, False):
        folder = tmp_path / str(mutual)
        folder.mkdir()
        server.configure(Setup(folder, server.ports, 10, "TLSv1.3", mutual=mutual))
        text = "".join(file.read_text() for file in folder.iterdir() if file.name in ("nginx.conf", "haproxy.cfg"))
        assert (line in text) == mutual


def test_each_kind_has_a_configuration_or_a_key_of_its_own():
    usual, tls12, mutual = (
        digest_configuration(NGINX_SERVER, live_runs(Namespace(**USUAL | more), NGINX_SERVER)[-1])
        for more in ({}, {"tls12": True}, {"mtls": True})
    )
    assert len({usual, tls12, mutual}) == 3
