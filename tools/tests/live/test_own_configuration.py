"""An operator's own configuration: which server it is for and where it listens; and what is refused with a sentence."""

import subprocess
import sys
from pathlib import Path

import pytest

from tlsmem.base.paths import ROOT
from tlsmem.live import live_run
from tlsmem.live.own_configuration import find_server
from tlsmem.live.servers import Ports, ServerError

NGINX = "events {}\nhttp { server { listen 127.0.0.1:9080; }\n server { listen 9443 ssl; } }\n"
HAPROXY = "frontend f\n    bind 127.0.0.1:9080\n    bind *:9443 ssl crt both.pem\n"


@pytest.mark.parametrize(("text", "name"), [(NGINX, "nginx-edge"), (HAPROXY, "haproxy-edge")], ids=["nginx", "haproxy"])
def test_a_configuration_tells_its_server_and_its_ports(tmp_path, text, name):
    file = tmp_path / "edge.conf"
    file.write_text(text)
    found = find_server(f"path:{file}")
    assert (found.name, found.ports, found.full_bytes) == (name, Ports(9080, 9443), None)


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("127.0.0.1 localhost\n", r"neither nginx's .* nor HAProxy's"),
        ("events {}\nhttp { server { listen 80; } }\n", "nothing in it listens over TLS"),
        ("frontend f\n    bind :443 ssl crt both.pem\n", "nothing in it listens in plain HTTP"),
    ],
)
def test_a_configuration_that_cannot_be_measured_is_named(tmp_path, text, sentence):
    file = tmp_path / "edge.conf"
    file.write_text(text)
    with pytest.raises(ServerError, match=sentence):
        find_server(f"path:{file}")


@pytest.mark.thorough
def test_a_server_of_one_connection_at_a_time_is_unsupported_with_the_reason():
    words = [sys.executable, ROOT / "tools/tls-memtest", "measure", "live", "--server=openssl-s_server", "--n=10"]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (77, "")
    assert done.stderr.startswith("memtest: openssl s_server serves one connection at a time")


def test_the_probe_for_ktls_agrees_with_the_kernels_list_of_upper_protocols():
    listed = Path("/proc/sys/net/ipv4/tcp_available_ulp")
    if "tls" in (listed.read_text().split() if listed.exists() else []):
        live_run.require_ktls()
        return
    with pytest.raises(ServerError, match="this kernel has no kTLS: setting TCP_ULP to tls gives ENOENT"):
        live_run.require_ktls()


def test_connections_that_the_kernel_did_not_take_over_are_counted(tmp_path):
    statistics = tmp_path / "tls_stat"
    statistics.write_text("TlsCurrTxSw 0\nTlsTxSw 19\nTlsTxDevice 1\n")
    live_run.check_use(statistics, 20)
    with pytest.raises(ServerError, match="only 20 of 21 connections use kTLS"):
        live_run.check_use(statistics, 21)
