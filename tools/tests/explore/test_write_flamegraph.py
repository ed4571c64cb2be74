"""Pictures of one moment, drawn by inferno: known functions with known bytes, and sentences where there is none."""

import re
import signal
import xml.etree.ElementTree as ElementTree

import pytest

from tests.explore.test_flamegraph_page import made, read_run
from tlsmem.build.commands import BuildFailed
from tlsmem.explore import profile_selection
from tlsmem.explore.diff import profile_diff
from tlsmem.explore.flamegraph import write_flamegraph

NAMES = {"svg": "http://www.w3.org/2000/svg"}


def titles(file) -> list[str]:
    """What a picture says of each function: `NAME (BYTES bytes, SHARE)`."""
    return [one.text for one in ElementTree.parse(file).iterfind(".//svg:g/svg:title", NAMES)]


@pytest.mark.slow
def test_a_picture_has_the_functions_and_bytes_of_its_moment(tmp_path):
    write_flamegraph.write(read_run("openssl@3.5.5"), tmp_path / "it.svg", "established", "client")
    said = titles(tmp_path / "it.svg")
    assert any(one.startswith("all (47,592 bytes") for one in said)
    assert any(one.startswith("SSL_new (6,468 bytes") for one in said)
    text = (tmp_path / "it.svg").read_text()
    assert "openssl@3.5.5, tls13-rsa-aes256" in text and "client" in text


def test_names_of_functions_are_text(tmp_path):
    write_flamegraph.write(made([(["a<b> & c", "operator<"], [(10, 1)]), (["d"], [(5, 1)])]), tmp_path / "it.svg")
    assert "a<b> & c (10 bytes, 66.67%)" in titles(tmp_path / "it.svg")


def test_names_that_no_xml_may_hold_are_replaced(tmp_path):
    profile = made([(["a\x1b[2J\x00b", "\ud800\ufffe"], [(10, 1)])])
    profile.command = "it\x00\x1b"
    write_flamegraph.write(profile, tmp_path / "it.svg")
    assert any(one.startswith("a?[2J?b (10 bytes") for one in titles(tmp_path / "it.svg"))
    assert "it??" in (tmp_path / "it.svg").read_text()


def test_what_draws_and_ends_early_does_not_end_the_script(tmp_path, monkeypatch):
    monkeypatch.setattr(write_flamegraph, "build", lambda: None)
    monkeypatch.setattr(write_flamegraph, "BINARY", "false")
    before = signal.signal(signal.SIGPIPE, signal.SIG_DFL)
    try:
        with pytest.raises(BuildFailed, match="not drawn"):
            write_flamegraph.render_svg((f"f{number} 1" for number in range(50_000)), "it", "of it")
    finally:
        signal.signal(signal.SIGPIPE, before)


def test_a_diff_is_red_where_new_holds_more_and_blue_where_less(tmp_path):
    old = made([(["main", "grows"], [(100, 1)]), (["main", "shrinks"], [(300, 1)])])
    new = made([(["main", "grows"], [(300, 1)]), (["main", "shrinks"], [(100, 1)])])
    new.file = "new.zst"
    write_flamegraph.write_diff(profile_diff.compare(old, new, "mark 1"), tmp_path / "it.svg")
    found = {}
    for group in ElementTree.parse(tmp_path / "it.svg").iterfind(".//svg:g", NAMES):
        title, box = group.find("svg:title", NAMES), group.find("svg:rect", NAMES)
        if title is not None and box is not None:
            found[title.text.split(" ")[0]] = [int(part) for part in re.findall(r"\d+", box.get("fill"))]
    assert found["grows"][0] > found["grows"][2] and found["shrinks"][2] > found["shrinks"][0]
    assert "red: NEW" in (tmp_path / "it.svg").read_text()


@pytest.mark.thorough
def test_a_diff_s_picture_says_of_which_suite_moment_and_role_it_is(tmp_path):
    old, new = read_run("openssl@3.5.5", "tls12-rsa-aes256"), read_run("rustls+aws-lc@0.23.46")
    diff = profile_diff.compare(old, new, "established", force=True)
    write_flamegraph.write_diff(diff, tmp_path / "all.svg")
    write_flamegraph.write_diff(diff.select("client"), tmp_path / "client.svg")
    whole, client = ((tmp_path / name).read_text() for name in ("all.svg", "client.svg"))
    assert "openssl@3.5.5 → rustls+aws-lc@0.23.46, tls12-rsa-aes256 → tls13-rsa-aes256<" in whole
    assert ">live bytes at the end of established; by what the bytes are for: 0% are below" in whole
    assert ">live bytes at the end of established, client; by what the bytes are for: 0% are below" in client
    releases = profile_diff.compare(read_run("openssl@3.5.5", "tls12-rsa-aes256"), old, "established", force=True)
    write_flamegraph.write_diff(releases, tmp_path / "same.svg")
    assert ">live bytes at the end of established; red: NEW" in (tmp_path / "same.svg").read_text()


@pytest.mark.slow
def test_a_diff_of_stacks_that_share_no_functions_is_a_picture_of_purposes(tmp_path):
    """Bars of buckets, each as wide as the larger of both."""
    old, new = read_run("openssl@3.5.5"), read_run("rustls+aws-lc@0.23.46")
    write_flamegraph.write_diff(profile_diff.compare(old, new, "established"), tmp_path / "it.svg")
    found = titles(tmp_path / "it.svg")
    assert any(title.startswith("record buffers, read (16,716 bytes") for title in found)
    assert not any("SSL" in title or "rustls" in title for title in found)
    assert "0% are below a library function that both call, less than 10%" in (tmp_path / "it.svg").read_text()


@pytest.mark.page
def test_a_diff_may_be_a_page(tmp_path):
    old, new = made([(["f"], [(1, 1)])]), made([(["f"], [(2, 1)])])
    new.file = "new.zst"
    write_flamegraph.write_diff(profile_diff.compare(old, new, "mark 1"), tmp_path / "it.html")
    assert "OLD" in (tmp_path / "it.html").read_text()


@pytest.mark.parametrize("name", ["it.png", "it", "it.svgz"])
def test_other_suffixes_are_refused(name, tmp_path, snapshot):
    for write, what in ((write_flamegraph.write, made([(["f"], [(1, 1)])])), (write_flamegraph.write_diff, None)):
        with pytest.raises(ValueError, match=name) as error:
            write(what, tmp_path / name)
        assert str(error.value) == snapshot(name="sentence")
        assert not (tmp_path / name).exists()


def test_what_cannot_be_drawn_is_said_so(tmp_path, snapshot):
    profile = made([(["f"], [(1, 1)]), (["g"], [(0, 0)])])
    for file in ("it.svg", "it.html"):
        with pytest.raises(ValueError, match="peek") as error:
            write_flamegraph.write(profile, tmp_path / file, "peek")
        assert str(error.value) == snapshot(name="no such moment")
    with pytest.raises(profile_selection.PatternNotFound):
        write_flamegraph.write(profile, tmp_path / "it.svg", None, None, "nothing")
    with pytest.raises(profile_selection.PatternNotFound):
        write_flamegraph.write(profile, tmp_path / "it.html", None, None, "nothing")


def test_a_moment_without_bytes_has_no_picture(tmp_path, snapshot):
    with pytest.raises(ValueError, match=r"it\.zst.*mark 1") as error:
        write_flamegraph.write(made([(["f"], [(0, 0)])]), tmp_path / "it.svg")
    assert str(error.value) == snapshot


@pytest.mark.parametrize("name", ["a.svg", pytest.param("a.html", marks=pytest.mark.page)])
def test_a_picture_replaces_another_whole(tmp_path, name):
    """What is written in place may be half a file: then the other name of the old one would have it."""
    profile = read_run("openssl@3.5.5")
    (tmp_path / name).write_text("old")
    (tmp_path / "other").hardlink_to(tmp_path / name)
    write_flamegraph.write(profile, tmp_path / name)
    assert (tmp_path / "other").read_text() == "old" != (tmp_path / name).read_text()
    assert sorted(file.name for file in tmp_path.iterdir()) == [name, "other"]
    with pytest.raises(OSError, match="No such file"):
        write_flamegraph.write(profile, tmp_path / "no" / name)


def test_without_cargo_there_is_a_way_out(tmp_path, monkeypatch, snapshot):
    monkeypatch.setattr(write_flamegraph, "BINARY", tmp_path / "flamegraph")
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(BuildFailed) as error:
        write_flamegraph.write(made([(["f"], [(1, 1)])]), tmp_path / "it.svg")
    assert str(error.value) == snapshot


@pytest.mark.thorough
def test_the_deepest_stack_has_a_picture(tmp_path):
    names = [f"f{depth}" for depth in range(100_000)]
    write_flamegraph.write(made([(names, [(7, 1)]), (names[:500], [(1, 1)])]), tmp_path / "it.svg")
    said = titles(tmp_path / "it.svg")
    assert "(calls beyond 1,000) (7 bytes, 87.50%)" in said and "f999 (7 bytes, 87.50%)" in said
    assert not any(one.startswith("f1000 ") for one in said)
