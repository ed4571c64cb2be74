"""What check-nginx says of figures that are not as they must be, and of those that are."""

from dataclasses import replace

import pytest

import check_nginx
import idle_connections
import nginx
import nginx_plan
from idle_connections import Held
from nginx import WorkerMemory
from tests.support import synthetic
from tlsmem.plan.configuration import configure
from tlsmem.plan.connection_model import MEASURED, ConnectionModel
from tlsmem.run.heap_page import PageCounts


def level(live_bytes: int, live_blocks: int) -> WorkerMemory:
    return WorkerMemory(PageCounts(live_bytes, live_blocks, 0, 0, 0, 0), rss_anon_bytes=4096)


def held(connections: int, each: int = 14148, extra: int = 0, left: int = 0, blocks: int = 41) -> Held:
    during = level(90_000 + each * connections + extra, 300 + blocks * connections)
    return Held("tls", connections, level(90_000, 300), during, level(90_000 + left, 300))


def test_the_same_integer_everywhere_is_right():
    assert not list(idle_connections.wrong([held(500), held(1000), held(2000)]))


@pytest.mark.parametrize(
    "runs, sentence",
    [
        ([held(500), held(1000, extra=1)], "bytes per connection are not one integer: 14,148.000 at 500, 14,148.001"),
        ([held(500), held(1000, each=14149)], "bytes per connection are not one integer"),
        ([held(500), held(1000, blocks=42)], "blocks per connection are not one integer"),
        ([held(500), held(1000, left=48)], "48 bytes are left of 1,000 closed connections"),
    ],
)
def test_what_is_not_so_is_one_sentence(runs, sentence):
    (found,) = idle_connections.wrong(runs)
    assert sentence in found


def test_a_remainder_is_shown_in_the_table():
    (row,) = idle_connections.table([held(500, extra=1)], "nginx").rows
    assert [cell.text for cell in row[:4]] == ["TLS 1.3, RSA-2048", "500", "14,148.002", "41"]


def test_a_pipe_gets_markdown_which_has_no_width(monkeypatch, capsys):
    monkeypatch.setattr(idle_connections, "hold", lambda kind, connections: replace(held(connections), kind=kind))
    monkeypatch.setattr(nginx, "allow_descriptors", lambda _: None)
    monkeypatch.setattr(nginx, "nginx_version", lambda: "nginx/1.2.3")
    monkeypatch.setattr("sys.argv", ["check_nginx.py", "500"])
    with pytest.raises(SystemExit):
        check_nginx.main()
    assert "| TLS 1.3, RSA-2048 |         500 |" in capsys.readouterr().out


def test_without_nginx_it_is_one_sentence(monkeypatch):
    monkeypatch.setattr(nginx.shutil, "which", lambda *_, **__: None)
    with pytest.raises(nginx.NginxFailed, match="nginx is not installed: apt install nginx-light"):
        nginx.find_nginx()


def planned(kept: float, live: float) -> ConnectionModel:
    one = {"stack": "openssl@system", "suite": "tls13-rsa-aes256", "allocator": "system", "role": "server"}
    one |= {"how": MEASURED, "fixed": 0, "handshake": None, "widest": 1}
    configuration = configure("nginx", "in-use", "openssl@system")
    return ConnectionModel(**one, connection=kept, live=live, configuration=configuration)


def with_rss(run: Held, each: int) -> Held:
    during = WorkerMemory(run.during.heap, run.before.rss_anon_bytes + each * run.connections)
    return replace(run, kind="defaults", during=during)


def test_the_plan_is_the_librarys_figure_and_nginxs_own_512_bytes():
    run = with_rss(held(1000), 15_000)
    live, rss = nginx_plan.compare([run], {"defaults": "idle"}, planned(14_088, 13_542))
    assert (live.measured, live.planned) == (14_148, 13_542 + 512)
    assert (rss.measured, rss.planned) == (15_000, 14_088 + 512)
    assert not list(nginx_plan.wrong([live, rss]))


def test_a_plan_that_is_more_than_a_tenth_off_is_one_sentence():
    run = with_rss(held(1000), 15_000)
    found = nginx_plan.compare([run], {"defaults": "idle"}, planned(47_377, 13_542))
    (sentence,) = nginx_plan.wrong(found)
    assert "RSS of a connection (idle) is 15,000 B, the plan says 47,889 B: +219.3%" in sentence


def test_a_recording_without_the_configuration_of_nginx_is_a_sentence(tmp_path):
    where = synthetic.write(tmp_path / "recording", [synthetic.record("openssl@3.5.5", "tls13-rsa-aes256", 2)])
    with pytest.raises(ValueError, match="no runs of openssl@system"):
        nginx_plan.planned_model(where)
