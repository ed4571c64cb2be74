"""What a page is drawn by: d3-flame-graph and the modules of d3 that it needs, pinned by npm's lock file, and ours."""

import os
import shutil
from pathlib import Path
from typing import NamedTuple

from tlsmem.base.paths import IS_WHEEL, PACKAGE, ROOT
from tlsmem.base.repository import require_clone
from tlsmem.build import commands, stamps
from tlsmem.build.shared_resources import hold_lock

PINNED = PACKAGE / "explore/flamegraph/assets"
FETCHED = ROOT / "build/page"
NODE, NODE_PINS = ROOT / "build/node-venv", ROOT / "tools/requirements-node.txt"
LOG = ROOT / "build/logs/page.log"
MODULES = (  # of d3, each after those that it needs
    *("array", "color", "dispatch", "ease", "format", "hierarchy", "interpolate", "time", "time-format", "timer"),
    *("scale", "selection", "transition"),
)
LIBRARIES = {f"d3-{name}": f"dist/d3-{name}.min.js" for name in MODULES}
LIBRARIES["d3-flame-graph"] = "dist/d3-flamegraph.umd.min.js"
DRAWING = "flamegraph.js"  # of every page that has flamegraphs
OURS = (DRAWING, "figure.js", "words.js", "chart.js", "controls.js")


def read_asset(name: str) -> str:
    return (PINNED / name).read_text(encoding="utf-8")


def read_script(name: str) -> str:
    return drop_comments(read_asset(name))


def drop_comments(script: str) -> str:
    """Leave out comments and indentation, a quarter of a script. Strings end in their line."""
    lines = map(str.strip, script.splitlines())
    return "".join(f"{line}\n" for line in lines if line and not line.startswith("//"))


class Scripts(NamedTuple):
    """In the order in which a browser reads them."""

    scripts: list[str]
    licences: list[str]


def scripts() -> Scripts:
    """Of a page of one heap profile; as libraries."""
    found = libraries()
    ours = "".join(map(read_script, OURS))
    return found._replace(scripts=[*found.scripts, f'"use strict";\n(() => {{\n{ours}}})();'])


def libraries() -> Scripts:
    """What any page with flamegraphs needs. Raises BuildFailed with a sentence when they cannot be fetched."""
    fetch()
    folders = {FETCHED / "node_modules" / name: file for name, file in LIBRARIES.items()}
    theirs = [(folder / file).read_text(encoding="utf-8").strip() for folder, file in folders.items()]
    named: dict[str, list[str]] = {}  # modules of d3 share the text of their licence
    for folder in folders:
        named.setdefault((folder / "LICENSE").read_text(encoding="utf-8").strip(), []).append(folder.name)
    return Scripts(theirs, [f"{', '.join(names)}:\n\n{text}" for text, names in named.items()])


def list_pins() -> list[Path]:
    return [PINNED / "package.json", PINNED / "package-lock.json"]


def are_fetched() -> bool:
    return not IS_WHEEL and stamps.is_current(FETCHED / "stamp", stamps.hash_files(list_pins(), ROOT))


def fetch() -> None:
    """Once; afterwards no network is needed. Raises Usage outside a clone."""
    require_clone("a page of flamegraphs")
    if are_fetched():
        return
    with hold_lock(FETCHED.with_suffix(".lock")):
        if are_fetched():
            return
        FETCHED.mkdir(exist_ok=True)
        for pin in list_pins():
            shutil.copy2(pin, FETCHED)
        command = ["npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund"]
        path = f"{find_node()}{os.pathsep}{os.environ.get('PATH', os.defpath)}"
        commands.run(command, LOG, "page: fetching d3-flame-graph", FETCHED, more={"PATH": path})
        stamps.write_stamp(FETCHED / "stamp", stamps.hash_files(list_pins(), ROOT))


def find_node() -> Path:
    """Return the directory that has node and npm: the system's, else those of build/node-venv, which are installed."""
    if found := shutil.which("npm"):
        return Path(found).parent
    stamp, made_of = NODE / "stamp", stamps.hash_files([NODE_PINS], ROOT)
    if not stamps.is_current(stamp, made_of):
        shutil.rmtree(NODE, ignore_errors=True)
        commands.run(["python3", "-m", "venv", str(NODE)], LOG, "page: a Python environment for node", ROOT)
        command = [str(NODE / "bin/pip"), "install", "--disable-pip-version-check", "--no-compile", "--require-hashes"]
        commands.run([*command, "-r", str(NODE_PINS)], LOG, "page: fetching node and npm", ROOT)
        stamps.write_stamp(stamp, made_of)
    return NODE / "bin"
