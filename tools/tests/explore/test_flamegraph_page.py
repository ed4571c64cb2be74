"""Pages of heap profiles: what they hold adds up, whatever functions are called, and they are never too large."""

import base64
import hashlib
import html
import json
import re
import shutil
import subprocess
import sys
from concurrent import futures
from pathlib import Path

import pytest

from tlsmem.base.paths import ROOT
from tlsmem.build import shared_resources, stamps
from tlsmem.build.commands import BuildFailed
from tlsmem.explore.diff import profile_diff
from tlsmem.explore.flamegraph import call_tree, page_scripts, profile_page
from tlsmem.profile import sites_reader
from tlsmem.profile.frames import Frame
from tlsmem.profile.heap_profile import CallstackTree, LiveHeap, Moment, Profile, sum_live
from tlsmem.schema import read_records

RECORDING = ROOT / "data/2026-11-21-amd-epyc-2"
WICKED = '</script><script>alert("1")</script><!-- & \u2028 operator<'


def read_run(stack: str, suite: str = "tls13-rsa-aes256") -> Profile:
    runs = [
        run
        for run in read_records.load_file(RECORDING / f"{stack}.jsonl")
        if (run.meter, run.suite) == ("sites", suite)
    ]
    return sites_reader.profile_from_record(max(runs, key=lambda run: run.sessions))


def made(stacks: list[tuple[list[str], list[tuple[int, int | None]]]]) -> Profile:
    """Of functions, root first, with what they hold at each moment."""
    profile = Profile("heaptrack", "it.zst", "it", CallstackTree(), {})
    count = max((len(held) for _, held in stacks), default=1)
    moments = [Moment(f"mark {at + 1}", 0, {}) for at in range(count)]
    for functions, by_moment in stacks:
        stack = 0
        for function in functions:
            stack = profile.stacks.add(profile.stacks.place((Frame(function, None, None, "it", 7),)), stack)
        for moment, held in zip(moments, by_moment, strict=False):
            moment.live[stack] = sum_live({0: moment.live.get(stack, LiveHeap(0, 0)), 1: LiveHeap(*held)})
            moment.bytes += held[0]
    profile.moments = {moment.name: moment for moment in moments}
    return profile


def script(page: str, name: str) -> dict:
    return json.loads(re.search(f'<script type="application/json" id="{name}">(.*?)</script>', page, re.DOTALL)[1])


def own(node: list, moment: int) -> tuple[int, int | None]:
    """As page/figure.js reads it: what changed last."""
    found = (0, 0)
    for at in range(0, len(node[4]), 3):
        if node[4][at] <= moment:
            found = node[4][at + 1], node[4][at + 2]
    return found


def whole(tree: dict, moment: int) -> int:
    return sum(own(node, moment)[0] for node in tree["nodes"])


def held_by(tree: dict, moment: int, owner: str) -> tuple[int, int]:
    """Bytes and blocks below the first level's node of this owner."""
    inside = {int(node) for node, whose in tree["owners"].items() if whose == owner}
    for at, node in enumerate(tree["nodes"]):
        if at and node[0] in inside:
            inside.add(at)
    bytes_, blocks = zip(*(own(tree["nodes"][node], moment) for node in inside), strict=True)
    return sum(bytes_), None if None in blocks else sum(blocks)


def asked_of(page: str, value: str, before: str = "") -> list:
    """By the page's own script, run without a browser."""
    data = json.dumps({name: json.dumps(script(page, name)) for name in ("about", "tree")})
    ours = "".join((page_scripts.PINNED / name).read_text() for name in ("flamegraph.js", "figure.js", "words.js"))
    given = f"const document = {{ getElementById: (id) => ({{ textContent: {data}[id] }}) }};\n"
    program = f"{given}{ours}{before}console.log(JSON.stringify({value}));"
    done = subprocess.run(
        [page_scripts.find_node() / "node", "-e", program], capture_output=True, text=True, check=True
    )
    return json.loads(done.stdout)


@pytest.mark.page
def test_figures_of_a_recorded_sites_run():
    profile = read_run("openssl@3.5.5")
    tree = script(profile_page.page(profile, "established"), "tree")
    at = [*profile.moments].index("established")
    assert held_by(tree, at, "client") == (47_592, 194)
    assert held_by(tree, at, "server") == (37_286, 48)
    assert [whole(tree, at) for at in range(len(profile.moments))] == [one.bytes for one in profile.moments.values()]
    read_buffer = next(
        at for at, frame in enumerate(tree["frames"]) if tree["names"][frame[0]] == "tls_setup_read_buffer"
    )
    assert {tree["kinds"][node[2]] for node in tree["nodes"] if node[1] == read_buffer} == {"record buffers, read"}


@pytest.mark.page
def test_a_page_says_what_it_is_of_and_where_it_opens():
    page = profile_page.page(read_run("rustls+aws-lc@0.23.46"), "server 1", "client", "rustls")
    about = script(page, "about")
    assert about["opens"] == {"phase": "server 1", "role": "client"}
    assert (about["sessions"], about["base"], about["roles"]) == (1, 0, True)
    assert "rustls+aws-lc@0.23.46, tls13-rsa-aes256" in page
    assert "one pair of N = 1,000 sessions" in page


@pytest.mark.page
def test_a_pattern_leaves_only_what_it_finds():
    tree = script(profile_page.page(read_run("openssl@3.5.5"), "established", None, "^SSL_new$"), "tree")
    assert (held_by(tree, 6, "client")[0], held_by(tree, 6, "server")[0]) == (6_468, 6_532)
    assert "SSL_new" in tree["names"] and "tls_setup_read_buffer" not in tree["names"]


@pytest.mark.page
def test_no_function_can_end_a_script_or_begin_a_tag():
    profile = made([([WICKED, "<b>&amp;"], [(1, 1)])])
    profile.command, profile.warnings = WICKED, [WICKED]
    page = profile_page.page(profile)
    tags = len(re.findall("<script", profile_page.page(made([(["f"], [(1, 1)])]))))
    assert len(re.findall("<script", page)) == tags and len(re.findall("</script", page)) == tags
    assert "<b>" not in page and "alert(&#34;1&#34;)" in page
    assert WICKED in script(page, "tree")["names"]
    assert html.unescape(re.search("<h1>(.*?)</h1>", page)[1]) == WICKED


@pytest.mark.page
def test_a_page_may_load_nothing_and_run_only_its_own_scripts():
    page = profile_page.page(made([(["f"], [(1, 1)])]))
    policy = html.unescape(re.search('http-equiv="Content-Security-Policy" content="(.*?)"', page)[1])
    allowed = set(re.findall("'sha256-(.*?)'", policy))
    scripts = re.findall("<script>(.*?)</script>", page, re.DOTALL)
    assert allowed == {base64.b64encode(hashlib.sha256(one.encode()).digest()).decode() for one in scripts}
    assert policy.startswith("default-src 'none'; script-src 'sha256-")
    assert not re.findall(r"<(?:link|img|iframe|script) [^>]*(?:src|href)=", page)


def large(stacks: int, depth: int) -> Profile:
    names = [f"some::names::that_are_rather_long_{at}<{at}>" for at in range(stacks)]
    return made(
        [
            ([names[at % 10], *(names[(at * 7 + deep * at) % stacks] for deep in range(depth))], [(at + 1, 1)] * 3)
            for at in range(stacks)
        ]
    )


@pytest.mark.page
@pytest.mark.slow
def test_a_page_is_never_larger_than_it_may_be():
    profile = large(9000, 8)
    page = profile_page.page(profile)
    tree = script(page, "tree")
    assert 0.7 * profile_page.MOST < len(page.encode()) <= profile_page.MOST
    assert {whole(tree, at) for at in range(3)} == {9000 * 9001 // 2}
    numbers = {name: at for at, name in enumerate(tree["names"])}
    merged = [node for node in tree["nodes"] if tree["frames"][node[1]][0] == numbers[call_tree.SMALLER_SITES]]
    assert dict(tree["smaller"]["bytes"])[0] == sum(own(node, 0)[0] for node in merged) > 0
    assert tree["smaller"]["at_most"] > 0


@pytest.mark.page
def test_a_diff_has_what_old_and_new_hold_and_by_how_much_they_differ():
    old, new = read_run("openssl@3.5.5", "tls12-rsa-aes256"), read_run("openssl@3.5.5")
    diff = profile_diff.compare(old, new, "established", force=True)
    page = profile_page.diff_page(diff)
    about, tree = script(page, "about"), script(page, "tree")
    assert about["moments"] == ["OLD", "NEW", "change"] and about["sessions"] == 1
    shared = {"shared": 1.0, "least_shared": 0.1, "by_purpose": False}
    assert about["diff"] == {"old": diff.old.label, "new": diff.new.label} | shared
    assert held_by(tree, 1, "client") == (47_592, None) and held_by(tree, 1, "server") == (37_286, None)
    assert held_by(tree, 0, "client") == (sum_live(old.live("established", "client")).bytes, None)
    assert whole(tree, 2) == sum(abs(row.new.bytes - row.old.bytes) for row in diff.rows)


@pytest.mark.page
def test_without_npm_and_python_the_command_that_is_missing_is_named(tmp_path, monkeypatch):
    monkeypatch.setattr(page_scripts, "FETCHED", tmp_path / "page")
    monkeypatch.setattr(page_scripts, "NODE", tmp_path / "node-venv")
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(BuildFailed, match="python3"):
        page_scripts.scripts()


@pytest.mark.page
@pytest.mark.slow
def test_where_the_system_has_no_npm_it_comes_from_a_python_package(tmp_path, monkeypatch):
    (tmp_path / "python3").symlink_to(Path(sys.base_prefix) / "bin/python3")
    for name in ("env", "sh"):
        (tmp_path / name).symlink_to(shutil.which(name))
    monkeypatch.setattr(page_scripts, "FETCHED", tmp_path / "page")
    monkeypatch.setattr(page_scripts, "NODE", tmp_path / "node-venv")
    monkeypatch.setenv("PATH", str(tmp_path))
    assert len(page_scripts.libraries().scripts) == len(page_scripts.LIBRARIES)
    assert page_scripts.find_node() == tmp_path / "node-venv/bin"


@pytest.mark.page
def test_what_another_process_is_fetching_is_waited_for(tmp_path, monkeypatch):
    (tmp_path / "npm").write_text("#!/bin/sh\nexit 1\n")
    (tmp_path / "npm").chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(page_scripts, "FETCHED", tmp_path / "page")
    (tmp_path / "page").mkdir()
    pins = [page_scripts.PINNED / "package.json", page_scripts.PINNED / "package-lock.json"]
    with futures.ThreadPoolExecutor() as pool:
        with shared_resources.hold_lock(tmp_path / "page.lock"):
            second = pool.submit(page_scripts.fetch)
            with pytest.raises(TimeoutError):
                second.result(timeout=0.5)
            stamps.write_stamp(tmp_path / "page/stamp", stamps.hash_files(pins, ROOT))
        assert second.result() is None


def test_what_is_fetched_is_pinned():
    lock = json.loads((page_scripts.PINNED / "package-lock.json").read_text())
    packages = {name: one for name, one in lock["packages"].items() if name}
    assert {f"node_modules/{name}" for name in page_scripts.LIBRARIES} <= packages.keys()
    assert all(one["integrity"].startswith("sha512-") and not one.get("hasInstallScript") for one in packages.values())


@pytest.mark.page
def test_the_figure_of_the_page_sums_as_we_do():
    """Sums by moment and role, and per session."""
    asked = "const at = moments.indexOf('established');"
    said = "[held(WHOLE, at, 'client'), held(WHOLE, at, 'all'), perSession(WHOLE, at, 'server')]"
    client, both, server = asked_of(profile_page.page(read_run("openssl@3.5.5"), "established"), said, asked)
    assert client == {"bytes": 47_592, "blocks": 194} and both == {"bytes": 84_878, "blocks": 242}
    assert (server["bytes"], server["blocks"], server["unit"]) == (37_286, 48, "server session")
