"""Which client process has which connections, and how many processes and workers so many take."""

from pathlib import Path
from typing import Any, cast

import pytest

from tlsmem.live.clients import SHARE, Clients, count_processes
from tlsmem.live.servers import NGINX_SERVER, PORTS, Setup


@pytest.mark.parametrize(("connections", "processes"), [(1, 1), (SHARE, 1), (SHARE + 1, 2), (3 * SHARE, 3)])
def test_a_process_has_at_most_its_share(connections, processes):
    assert count_processes(connections) == processes


def test_a_window_over_the_border_of_two_processes_is_split():
    clients = Clients(cast(Any, None), cast(Any, None), 2 * SHARE)
    clients.processes = cast(Any, ["first", "second"])
    assert list(clients.split(SHARE - 60, SHARE + 40)) == [("first", SHARE - 60, SHARE), ("second", 0, 40)]
    assert list(clients.split(SHARE, SHARE + 10)) == [("second", 0, 10)]


@pytest.mark.parametrize(("most", "workers", "shared"), [(9900, 1, 0), (15_000, 1, 0), (57_000, 4, 2)])
def test_nginx_has_as_many_workers_as_descriptors_ask_for(tmp_path, most, workers, shared):
    NGINX_SERVER.configure(Setup(Path(tmp_path), PORTS, most, "TLSv1.3"))
    text = (tmp_path / "nginx.conf").read_text()
    assert f"worker_processes {workers};" in text
    assert text.count("reuseport") == shared
