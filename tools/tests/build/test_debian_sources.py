"""Upstream's archive out of a source package: from an archive of our own, by the apt of this machine."""

import functools
import http.server
import re
import shutil
import threading

import pytest

from tests.support.debian_mirror import TINY, Mirror, orig, sums
from tlsmem.build import debian_sources, harness
from tlsmem.build.commands import BuildFailed, Unavailable
from tlsmem.config.definitions import Stack

pytestmark = pytest.mark.skipif(not shutil.which("apt-get"), reason="this system has no apt")


@pytest.fixture
def mirror(tmp_path, monkeypatch):
    return Mirror(tmp_path, monkeypatch)


def test_the_archive_of_another_suite_comes_from_where_this_machine_has_its_own(mirror):
    mirror.offer("trixie", "1.2.3-1", "1.2.4-1")
    tree = mirror.get(mirror.source())
    assert (tree / "tiny.c").read_text() == TINY and tree == mirror.folder / "tiny-1.2.3-1"
    assert sorted(one.name.partition(".")[0] for one in mirror.folder.iterdir() if one.is_dir()) == ["tiny-1"]


def test_a_version_that_is_gone_is_not_to_be_had_and_no_other_is_taken(mirror, snapshot):
    mirror.offer("trixie", "1.2.4-1", "1.2.5-1")
    with pytest.raises(Unavailable) as gone:
        mirror.get(mirror.source())
    said = str(gone.value)
    assert all(one in said for one in ("tiny@1", "trixie", "1.2.3-1", "1.2.4-1", "1.2.5-1", "memtest/stacks.toml"))
    assert said == snapshot
    assert "\n" not in said and not any(one.is_dir() for one in mirror.folder.iterdir())


def test_another_revision_of_the_same_upstream_version_has_the_same_archive(mirror):
    mirror.offer("trixie", "1.2.3-1+deb13u2", "1.2.4-1")
    same = sums(orig("1.2.3-1+deb13u2"))[0]
    assert (mirror.get(mirror.source(sum_=same)) / "tiny.c").read_text() == TINY


def test_another_revision_with_another_archive_is_refused_by_its_checksum(mirror):
    mirror.offer("trixie", "1.2.3-1+deb13u2")
    with pytest.raises(BuildFailed, match=r"is not the source that memtest/stacks\.toml"):
        mirror.get(mirror.source())


@pytest.mark.slow
def test_an_archive_that_cannot_be_reached_is_a_failure_and_not_a_version_that_is_gone(
    mirror, tmp_path, monkeypatch, snapshot
):
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    (mirror.parts / "a.list").write_text("deb [trusted=yes] http://127.0.0.1:9/debian bookworm main\n")
    with pytest.raises(BuildFailed) as failed:
        mirror.get(mirror.source())
    said = str(failed.value)
    assert not isinstance(failed.value, Unavailable)
    assert "tiny@1" in said and "trixie" in said and str(tmp_path / "log") in said
    (reason,) = re.findall(r"Failed to fetch .*127\.0\.0\.1[^;]*", said)
    assert said.replace(reason, "WORDS OF APT") == snapshot
    stack = Stack(harness="c", driver="null", licence="MIT", source=mirror.source(), steps=["true"])
    with pytest.raises(BuildFailed):
        harness.build("tiny@1", stack, tmp_path)
    assert not (tmp_path / "build/harness/tiny@1.unavailable").exists(), "or check would pass over the stack"


@pytest.fixture
def archive_without_suites(mirror):
    """An archive that answers 404 to everything."""
    mirror.place.mkdir()
    handler = functools.partial(http.server.SimpleHTTPRequestHandler, directory=mirror.place)
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        (mirror.parts / "a.list").write_text(f"deb [trusted=yes] http://127.0.0.1:{server.server_port}/debian x main\n")
        yield mirror
        server.shutdown()
        thread.join()


def test_a_suite_that_the_archive_has_no_longer_is_gone(archive_without_suites, monkeypatch, snapshot):
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    with pytest.raises(Unavailable, match=r"^tiny@1: .*trixie") as gone:
        archive_without_suites.get(archive_without_suites.source())
    assert str(gone.value) == snapshot


@pytest.mark.thorough
def test_why_is_kept_beside_where_the_harness_would_be_until_it_can_be_had(mirror, tmp_path, snapshot):
    mirror.offer("trixie", "1.2.4-1")
    stack = Stack(harness="c", driver="null", licence="MIT", source=mirror.source(), steps=["true"])
    with pytest.raises(Unavailable) as gone:
        harness.build("tiny@1", stack, tmp_path)
    kept = tmp_path / "build/harness/tiny@1.unavailable"
    assert kept.read_text().strip() == str(gone.value).removeprefix("tiny@1: ")
    assert "1.2.3-1" in kept.read_text() and "1.2.4-1" in kept.read_text()
    assert kept.read_text() == snapshot
    with pytest.raises(BuildFailed):  # for another reason
        harness.build(
            "tiny@1", stack.model_copy(update={"source": mirror.source("1.2.4-1"), "steps": ["false"]}), tmp_path
        )
    assert not kept.exists()


def test_a_package_that_the_suite_never_had(mirror, snapshot):
    mirror.offer("trixie", "1.2.3-1")
    with pytest.raises(Unavailable) as gone:
        mirror.get(mirror.source().model_copy(update={"debian": "huge"}))
    assert "trixie" in str(gone.value) and "huge 1.2.3-1" in str(gone.value)
    assert str(gone.value) == snapshot


@pytest.mark.thorough
def test_another_archive_than_was_pinned_is_refused(mirror):
    mirror.offer("trixie", "1.2.3-1")
    with pytest.raises(BuildFailed) as refused:
        mirror.get(mirror.source(sum_="0" * 64))
    assert sums(orig("1.2.3-1"))[0] in str(refused.value) and "0" * 64 in str(refused.value)
    assert not (mirror.folder / "tiny-1.2.3-1").exists()


def test_a_binary_package_is_what_it_installs(mirror):
    deb = mirror.offer_package("trixie", "1.2.3-1")
    tree = mirror.get(mirror.package(deb))
    assert (tree / "include/tiny.h").read_text() == TINY and tree == mirror.folder / "libtiny-1.2.3-1/usr"
    (tree / "include/tiny.h").unlink()
    deb.unlink()
    (mirror.folder / "libtiny-1.2.3-1.stamp").unlink()
    assert (mirror.get(mirror.package(mirror.folder / "libtiny-1.2.3-1.deb")) / "include/tiny.h").is_file()


@pytest.mark.thorough
def test_a_package_that_is_listed_and_not_served_is_told_from_one_that_is_gone(mirror, snapshot):
    deb = mirror.offer_package("trixie", "1.2.3-1")
    source = mirror.package(deb)
    deb.unlink()
    with pytest.raises(Unavailable, match=r"lists libtiny 1\.2\.3-1 and does not serve it") as refused:
        mirror.get(source)
    with pytest.raises(Unavailable, match=r"has no libtiny 1\.2\.4-1 any more; it offers 1\.2\.3-1 now"):
        mirror.get(source.model_copy(update={"version": "1.2.4-1"}))
    assert str(refused.value) == snapshot


@pytest.mark.thorough
def test_another_package_than_was_pinned_is_refused(mirror):
    source = mirror.package(mirror.offer_package("trixie", "1.2.3-1"))
    with pytest.raises(BuildFailed, match="SHA-256 pinned"):
        mirror.get(source.model_copy(update={"sha256": "0" * 64}))


def test_what_was_fetched_is_not_asked_for_again(mirror):
    mirror.offer("trixie", "1.2.3-1")
    mirror.get(mirror.source())
    shutil.rmtree(mirror.place)
    shutil.rmtree(mirror.folder / "tiny-1.2.3-1")
    assert (mirror.get(mirror.source()) / "tiny.c").is_file()


def test_a_second_clone_has_it_from_the_cache_even_when_it_is_gone(mirror, tmp_path, monkeypatch):
    mirror.offer("trixie", "1.2.3-1")
    mirror.get(mirror.source())
    monkeypatch.setenv("MEMTEST_CACHE", str(tmp_path / "cache"))
    mirror.get(mirror.source())
    shutil.rmtree(mirror.place)
    shutil.rmtree(mirror.folder)
    assert (mirror.get(mirror.source()) / "tiny.c").read_text() == TINY


def test_a_security_suite_is_asked_for_where_this_machine_has_its_own(mirror, snapshot):
    security = ("trixie-security", "tiny", "tiny@1")
    with pytest.raises(Unavailable) as none:
        debian_sources.find_entry(*security)
    assert "tiny@1" in str(none.value) and "-security" in str(none.value)
    assert str(none.value) == snapshot
    (mirror.parts / "b.list").write_text("deb http://elsewhere/debian-security bookworm-security main\n")
    assert "URIs: http://elsewhere/debian-security\n" in debian_sources.find_entry(*security)
    assert f"URIs: file:{mirror.place}\n" in debian_sources.find_entry("trixie", "tiny", "tiny@1")


def test_a_vendors_archive_is_not_taken_for_debians(mirror):
    (mirror.parts / "a.list").write_text(
        "deb https://vendor/apt bookworm main\ndeb https://vendor/linux/debian bookworm stable\n"
    )
    with pytest.raises(Unavailable):
        debian_sources.find_entry("trixie", "tiny", "tiny@1")


def test_both_forms_of_apts_sources_are_read(tmp_path):
    one = tmp_path / "sources.list"
    one.write_text(
        "# deb http://commented/debian a main\ndeb-src http://source/debian a main\n"
        "deb [arch=amd64 signed-by=/keys/k.gpg] http://list/debian a main non-free # why\n"
    )
    (tmp_path / "parts").mkdir()
    (tmp_path / "parts/b.sources").write_text(
        "# mine\nTypes: deb deb-src\nURIs: http://deb822/debian\nSuites: a a-updates\nComponents: main\n"
        "# it is here:\nSigned-By:\n -----BEGIN PGP\n .\n AAAA\n\n"
        "Enabled: no\nTypes: deb\nURIs: http://off/debian\nSuites: a\nComponents: main\n\n"
        "Types: deb\nURIs: http://second/debian\nSuites: a\nComponents: main\n"
    )
    found = list(debian_sources.read_entries(one, tmp_path / "parts"))
    assert [fields["URIs"] for fields in found] == [f"http://{name}/debian" for name in ("list", "deb822", "second")]
    assert found[0] == {
        "URIs": "http://list/debian", "Suites": "a", "Components": "main non-free", "Signed-By": "/keys/k.gpg"
    }  # fmt: skip
    assert found[1]["Signed-By"] == "\n -----BEGIN PGP\n .\n AAAA" and found[1]["Suites"] == "a a-updates"


def test_a_system_without_apt(mirror, monkeypatch, tmp_path, snapshot):
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(Unavailable) as none:
        mirror.get(mirror.source())
    assert "tiny@1" in str(none.value) and "apt-get" in str(none.value)
    assert str(none.value) == snapshot
