"""Real servers with more certificates: exact live heap, alike in master and worker, and each name answered. As root."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tlsmem.base.paths import ROOT
from tlsmem.live.configuration_run import ConfigurationRun, Findings, measure_configuration, reload
from tlsmem.live.servers import NGINX_SERVER, SEARCHED, ServerError, find_program
from tlsmem.live.settings import SETTINGS, Varied
from tlsmem.schema.configuration_records import load_configuration
from tlsmem.stats import configuration_costs as costs

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(os.geteuid() != 0, reason="network namespaces and memory cgroups need root"),
    pytest.mark.skipif(not shutil.which("nginx", path=SEARCHED), reason="nginx is not installed"),
]


def configuration(recording: Path, *options: str) -> subprocess.CompletedProcess[str]:
    words = [sys.executable, ROOT / "tools/tls-memtest", "measure", "configuration", f"--out={recording}", *options]
    return subprocess.run(words, capture_output=True, text=True, check=False)


def test_one_more_certificate_costs_master_and_worker_of_nginx_the_same(tmp_path):
    done = configuration(tmp_path, "--server=nginx", "--what=certificates", "--sizes=4,8,12")
    assert done.returncode == 0, done.stderr
    runs = load_configuration(tmp_path)
    for series in costs.group_settings(runs):
        in_master = series.added(costs.STARTED, costs.live_of(costs.MASTER))
        assert in_master == series.added(costs.STARTED, costs.live_of(costs.WORKER))
        assert 10_000 < in_master < 100_000
        assert all(run.certificates_seen == run.size for run in series.measured("heap"))
        reloaded = [run.phases[-1] for run in series.measured("heap")]
        assert [len(phase.processes) for phase in reloaded] == [2, 2, 2]
    again = configuration(tmp_path, "--server=nginx", "--what=certificates", "--sizes=4,8,12")
    assert "16 runs, 16 already recorded" in again.stderr


def test_a_server_that_answers_with_another_certificate_fails(monkeypatch):
    varied = Varied(NGINX_SERVER, SETTINGS["nginx"]["certificates"], 2, "ecdsa-p256")
    monkeypatch.setattr("tlsmem.live.configuration_run.list_names", lambda size: ["name-00001.example", "else.example"])
    with pytest.raises(ServerError, match=r"answered else\.example with another certificate than that of the name"):
        measure_configuration(ConfigurationRun(varied, "rss"), find_program(NGINX_SERVER), Findings())


def test_a_server_that_does_not_take_its_configuration_again_was_not_reloaded(monkeypatch):
    def write(text, setup, size, kind):
        return text

    def spoil(server):
        (server.folder / "nginx.conf").write_text("nonsense;")
        reload(server)

    monkeypatch.setattr("tlsmem.live.configuration_run.LIMIT_S", 2.0)
    monkeypatch.setattr("tlsmem.live.configuration_run.reload", spoil)
    varied = Varied(NGINX_SERVER, SETTINGS["nginx"]["backends"]._replace(write=write), 1)
    findings = Findings()
    with pytest.raises(ServerError, match=r'not reloaded within 2 s: .*unknown directive "nonsense"'):
        measure_configuration(ConfigurationRun(varied, "rss"), find_program(NGINX_SERVER), findings)
    assert [phase.phase for phase in findings.phases] == ["started"]
