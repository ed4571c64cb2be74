"""What check-nginx says of figures that are not as they must be, and of those that are."""

from dataclasses import replace

import pytest

import check_nginx
import idle_connections
import nginx
from idle_connections import Held
from nginx import WorkerMemory
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
