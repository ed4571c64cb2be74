"""A history of 32 commits over OpenSSL's source, one of which adds 16 bytes to every session; and its search.

planted_history.py DIRECTORY            makes the repository there, and says which commit it is
planted_history.py DIRECTORY --search   and lets `git bisect run` find it; fails when another is found
"""

import argparse
import os
import re
import shutil
import subprocess
import sys
import time
from pathlib import Path

TOOLS = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(TOOLS))

from tlsmem.base.paths import ROOT  # noqa: E402
from tlsmem.build import sources  # noqa: E402
from tlsmem.config.definitions import stacks  # noqa: E402

STACK = "openssl@3.5.5"
COMMITS, PLANTED = 32, 19
SESSION = "    SSL *user_ssl;\n"  # of ssl_connection_st, whose first member must stay so
FIELD = "    char planted[16];\n"
WHO = {
    f"GIT_{who}_{what}": said
    for who in ("AUTHOR", "COMMITTER")
    for what, said in (("NAME", "planted"), ("EMAIL", "planted@example.org"), ("DATE", "2026-01-01T00:00:00Z"))
}
FILES = ("ssl/s3_lib.c", "ssl/ssl_cert.c", "crypto/mem.c", "ssl/statem/statem.c", "crypto/evp/evp_lib.c", "README.md")
COMPARE = ["--a=openssl@git:good", "--b=openssl@git:HEAD", "--suites=tls13-rsa-aes256", "--role=server"]
FOUND = re.compile(r"^([0-9a-f]{40}) is the first bad commit", re.MULTILINE)


def git(where: Path, *words: str) -> str:
    """What it prints; the settings of whoever calls it are not asked."""
    settled = os.environ | WHO | {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_SYSTEM": os.devnull}
    return subprocess.run(["git", *words], cwd=where, env=settled, capture_output=True, text=True, check=True).stdout


def history(where: Path, source: Path) -> str:
    """Makes the repository; the commit that was planted. The tag `good` is what it begins with."""
    shutil.copytree(source, where)
    git(where, "init", "-q", "-b", "main")
    git(where, "add", "-A", "-f")
    git(where, "commit", "-q", "-m", "OpenSSL 3.5.5")
    git(where, "tag", "good")
    for number in range(1, COMMITS + 1):
        (plant if number == PLANTED else harmless)(where, number)
        git(where, "add", "-A")
        git(where, "commit", "-q", "-m", f"Change {number}")
    return git(where, "rev-parse", f"main~{COMMITS - PLANTED}").strip()


def plant(where: Path, _: int) -> None:
    header = where / "ssl/ssl_local.h"
    text = header.read_text()
    assert text.count(SESSION) == 1
    header.write_text(text.replace(SESSION, SESSION + FIELD))


def harmless(where: Path, number: int) -> None:
    """A comment, and in every other C file a function that nobody calls."""
    file = where / FILES[number % len(FILES)]
    comment = f"\n/* Change {number}. */\n"
    function = f"int unused_{number}(int x);\nint unused_{number}(int x)\n{{\n    return x + {number};\n}}\n"
    with file.open("a") as end:
        end.write(comment + (function if number % 2 and file.suffix == ".c" else ""))


def search(where: Path, planted: str) -> None:
    """Exits with a sentence when another commit is found, or none."""
    git(where, "bisect", "start", "main", "good")
    run = ["git", "bisect", "run", str(TOOLS / "tls-memtest"), "diff", "builds", "--bisect", *COMPARE]
    begun, said = time.monotonic(), []
    with subprocess.Popen(run, cwd=where, stdout=subprocess.PIPE, text=True) as running:
        for line in running.stdout:
            print(line, end="", flush=True)
            said.append(line)
    found = FOUND.findall("".join(said))
    if found != [planted]:
        sys.exit(f"bisect: {' '.join(found) or 'no commit'} was found, but {planted} was planted")
    steps = sum(line.startswith("running ") for line in said)
    print(f"bisect: found the commit that was planted, in {steps} steps and {time.monotonic() - begun:.0f} s")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("directory", type=Path)
    parser.add_argument("--search", action="store_true")
    given = parser.parse_args()
    shutil.rmtree(given.directory, ignore_errors=True)
    source = sources.provide_tree(
        STACK, stacks()[STACK].source, ROOT / "build/sources", ROOT / "build/logs/planted.log"
    )
    planted = history(given.directory, source)
    print(f"{COMMITS} commits after the tag good; planted is number {PLANTED}, {planted}", flush=True)
    if given.search:
        search(given.directory, planted)


if __name__ == "__main__":
    main()
