"""What registries offer: which listed version is newer than what is measured, and whether it is served."""

import shutil

import pytest

from tests.support.debian_mirror import Mirror
from tlsmem.build import offers
from tlsmem.build.commands import BuildFailed
from tlsmem.build.offers import Crates, Debian, NodePackages, Offer, Wheels
from tlsmem.config.definitions import Source, Stack

MEASURED = {"3.0.22": "tiny@3.0.22", "3.5.5": "tiny@3.5.5", "3.5.10": "tiny@3.5.10", "4.0.1": "tiny@4.0.1"}


@pytest.mark.parametrize(
    ("listed", "known"),
    [
        ("3.5.11", "tiny@3.5.10"),  # numbers, and not letters, are compared
        ("3.5.9", None),  # before the newest of its series
        ("3.5.5", None),
        ("3.6.0", "tiny@3.5.10"),  # a series of which nothing is measured
        ("4.1.0", "tiny@4.0.1"),
        ("4.1.0~beta1", None),
        ("4.0.2-rc.1", None),
        ("2.9.9", None),  # older than all
    ],
)
def test_new_is_what_comes_after_the_newest_measured_release_of_its_series(listed, known):
    assert Offer("tiny", "crate tiny", listed, MEASURED).known == known


@pytest.mark.parametrize(
    ("listed", "release"),
    [
        ("3.5.9-1~deb13u1", "3.5.9"),
        ("2:3.110-1+deb13u5", "3.110"),
        ("3.13.0+dfsg-2~deb13u1", "3.13.0"),
        ("0.6+dfsg.1-3", "0.6"),
    ],
)
def test_upstreams_version_of_a_debian_one(listed, release):
    assert offers.upstream_version(listed) == release


class Pretended:
    """A registry that serves some of what it lists."""

    def __init__(self, listed, served):
        self.listed, self.served, self.tried = listed, served, []

    def list_offers(self):
        return [Offer("tiny", f"crate tiny {one}", one, MEASURED) for one in self.listed]

    def download(self, offer):
        self.tried.append(offer.version)
        if offer.version not in self.served:
            raise BuildFailed(f"{offer.version} is not served")


def test_the_next_older_release_is_tried_where_the_newest_is_not_served():
    registry = Pretended(["3.5.11", "3.5.12", "3.5.13", "4.0.2", "4.0.1"], {"3.5.12", "3.5.11", "4.0.2"})
    found = [
        (one.offer.version, one.refusal)
        for several in offers.newest_first(registry.list_offers())
        for one in offers.try_series(several, registry)
    ]
    assert found == [("3.5.13", "3.5.13 is not served"), ("3.5.12", None), ("4.0.2", None)]
    assert registry.tried == ["3.5.13", "3.5.12", "4.0.2"]


@pytest.fixture
def mirror(tmp_path, monkeypatch):
    if not shutil.which("apt-get"):
        pytest.skip("this system has no apt")
    monkeypatch.setattr(offers, "NEWEST_SUITES", ())
    return Mirror(tmp_path, monkeypatch)


def stacks_from(source, name="tiny@1.2.3"):
    return {name: Stack(harness="c", driver="null", licence="MIT", source=source)}


@pytest.mark.thorough
def test_a_version_that_is_listed_and_not_served_is_told_from_one_that_is(mirror, tmp_path):
    mirror.offer("trixie", "1.2.3-1", "1.2.4-1", "1.2.5-1")
    (mirror.place / "pool/tiny_1.2.5.orig.tar.xz").unlink()
    found, failures = offers.find_new_releases(stacks_from(mirror.source()), tmp_path / "log")
    assert [(one.offer.version, one.offer.known, bool(one.refusal)) for one in found] == [
        ("1.2.5", "tiny@1.2.3", True),
        ("1.2.4", "tiny@1.2.3", False),
    ]
    assert found[0].offer.place == "Debian's source package tiny 1.2.5-1 (trixie)"
    assert "lists tiny 1.2.5-1 and does not serve it" in found[0].refusal and not failures


def test_an_archive_that_does_not_answer_is_one_sentence(mirror, tmp_path, monkeypatch):
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    (mirror.parts / "a.list").write_text("deb [trusted=yes] http://127.0.0.1:9/debian bookworm main\n")
    found, failures = offers.find_new_releases(stacks_from(mirror.source()), tmp_path / "log")
    [failure] = failures
    assert not found and failure.startswith("cannot reach Debian's archive") and "trixie" in failure


@pytest.mark.skipif(not shutil.which("cargo"), reason="this system has no cargo")
def test_a_cargo_that_reaches_no_registry_is_one_sentence(tmp_path, monkeypatch):
    for name, value in {"CARGO_HOME": str(tmp_path / "cargo"), "CARGO_NET_OFFLINE": "true"}.items():
        monkeypatch.setenv(name, value)
    source = Source(crate="tiny", version="1.2.3", sha256=offers.UNFETCHED)
    found, failures = offers.find_new_releases(stacks_from(source), tmp_path / "log")
    assert not found and len(failures) == 1 and failures[0].startswith("crates.io was not asked further than tiny: ")


def test_a_crate_is_asked_for_its_newest_version_and_for_that_of_each_series(tmp_path, monkeypatch):
    pins = {"tiny@1.0a": "100.1.2+1.0a", "tiny@1.1": "100.2.0+1.1"}
    stacks = {}
    for name, pinned in pins.items():
        stacks |= stacks_from(Source(crate="tiny-src", version=pinned, sha256=offers.UNFETCHED), name)
    answers = {"*": "200.0.0+2.0", "~100.1.2": "100.1.3+1.0b", "~100.2.0": "100.2.0+1.1"}
    monkeypatch.setattr(Crates, "resolve", lambda self, crate, requirement: answers[requirement])
    listed = list(Crates(stacks, tmp_path, tmp_path / "log").list_offers())
    assert {one.version: one.known for one in listed} == {"2.0": "tiny@1.1", "1.0b": "tiny@1.0a", "1.1": None}


def test_without_a_package_of_debians_apt_is_not_asked(tmp_path):
    source = Source(crate="tiny", version="1.2.3", sha256=offers.UNFETCHED)
    assert not list(Debian(stacks_from(source), tmp_path, tmp_path / "log").list_offers())


def test_a_newer_binary_package_is_offered_to_stacks_that_are_shipped_so(mirror, tmp_path):
    deb = mirror.offer_package("trixie", "1.2.5-1")
    shipped = stacks_from(mirror.package(deb, "1.2.3-1"), "tiny+debian@1.2.3")
    built = stacks_from(Source(crate="tiny", version="1.2.9", sha256=offers.UNFETCHED), "tiny@1.2.9")
    found = list(Debian(shipped | built, tmp_path, tmp_path / "log").list_offers())
    assert [(one.version, one.known, one.origin) for one in found] == [
        ("1.2.5", "tiny+debian@1.2.3", "Debian's package libtiny")
    ]


def test_what_one_origin_serves_does_not_keep_another_from_being_tried():
    offered = [Offer("tiny", f"{one} 3.5.11", "3.5.11", MEASURED) for one in ("crate tiny", "Debian's package tiny")]
    assert [[one.origin for one in several] for several in offers.newest_first(offered)] == [
        ["Debian's package tiny"],
        ["crate tiny"],
    ]


SHIPPED = """
["node 20.20.2"]
npm = "node-x64"
version = "20.20.2"

["node 22.23.3"]
npm = "node-x64"
version = "22.23.3"

["tiny 1.0"]
wheel = "tiny"
version = "1.0"
"""


@pytest.fixture
def openssl(tmp_path, monkeypatch):
    """OpenSSL as a stack, beside these packages that have one inside."""
    (tmp_path / "packages.toml").write_text(SHIPPED)
    monkeypatch.setattr(offers, "SHIPPED", tmp_path / "packages.toml")
    return stacks_from(Source(crate="openssl-src", version="300.5.5+3.5.5", sha256=offers.UNFETCHED), "openssl@3.5.5")


def test_a_package_is_asked_for_its_newest_version_and_for_that_of_each_major_one(openssl, tmp_path, monkeypatch):
    listed = ["20.20.2", "22.23.3", "22.9.0", "22.24.0", "24.1.0", "26.0.0", "27.0.0-rc.1"]
    monkeypatch.setattr(NodePackages, "list_versions", lambda self, package: listed)
    found = list(NodePackages(openssl, tmp_path, tmp_path / "log").list_offers())
    assert {one.place: one.known for one in found} == {
        "npm node-x64 20.20.2": None, "npm node-x64 22.24.0": "node 22.23.3", "npm node-x64 26.0.0": "node 22.23.3",
    }  # fmt: skip


def test_packages_with_an_openssl_inside_are_asked_for_where_one_is_a_stack(tmp_path):
    source = Source(crate="tiny", version="1.2.3", sha256=offers.UNFETCHED)
    for kind in NodePackages, Wheels:
        assert not list(kind(stacks_from(source), tmp_path, tmp_path / "log").list_offers())


@pytest.mark.thorough
def test_a_client_that_is_not_there_and_a_registry_that_does_not_answer_are_one_sentence(
    openssl, tmp_path, monkeypatch
):
    monkeypatch.setenv("PATH", "")
    with pytest.raises(BuildFailed, match=r"^npm was not asked for node-x64: npm is not installed$"):
        list(NodePackages(openssl, tmp_path, tmp_path / "log").list_offers())
    monkeypatch.setenv("PIP_INDEX_URL", "http://127.0.0.1:9/simple")
    monkeypatch.setenv("PIP_RETRIES", "0")
    with pytest.raises(BuildFailed, match=r"^PyPI was not asked for tiny: No matching distribution found for tiny$"):
        list(Wheels(openssl, tmp_path, tmp_path / "log").list_offers())
    offer = Offer("tiny", "PyPI tiny 1.1", "1.1", {"1.0": "tiny 1.0"})
    with pytest.raises(BuildFailed, match=r"^PyPI lists tiny 1\.1 and does not serve it: .*tiny==1\.1$"):
        Wheels(openssl, tmp_path, tmp_path / "log").download(offer)
