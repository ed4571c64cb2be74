#!/usr/bin/env python3
"""Whether a comparison of builds says what a patch did: real builds of OpenSSL, each with one planted change.

The expected words are those of the first lines: the verdict, and the largest changes in words."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import argparse
import re
import shutil
import subprocess
from typing import NamedTuple

from tlsmem.base import venv
from tlsmem.base.paths import ROOT
from tlsmem.cli.main import run

STACK, SUITE = "openssl@3.5.5", "tls13-rsa-aes256"
FOLDER = ROOT / "build/patches"
PARAM = "    s->param = X509_VERIFY_PARAM_new();\n    if (s->param == NULL)\n        goto asn1err;\n"
NEW_CONNECTION = "SSL *ossl_ssl_connection_new_int(SSL_CTX *ctx, SSL *user_ssl,\n"
NEW_PARAM = """__attribute__((noinline)) static X509_VERIFY_PARAM *new_param(void)
{
    X509_VERIFY_PARAM *volatile param = X509_VERIFY_PARAM_new();
    return param;
}

"""
SERVER_HELLO = "    if (!PACKET_get_net_2(pkt, &sversion)) {\n"
EXAMPLES = """examples:
  tools/dev/check_patches.py                   all patches: half an hour on two quiet CPUs, ten minutes again
  tools/dev/check_patches.py leak temporary    two of them"""


class Edit(NamedTuple):
    """A text of a file of OpenSSL, which stands there once, and what takes its place."""

    file: str
    old: str
    new: str


class Patch(NamedTuple):
    """`reverts`: the tree without the edits is NEW. `expected`: regular expressions, each of one of the first lines.

    `before`: the edits of OLD, where that is not the tree as it is."""

    edits: tuple[Edit, ...]
    expected: tuple[str, ...]
    reverts: bool = False
    before: tuple[Edit, ...] = ()


def temporary_block(size: int) -> Edit:
    """A block of this size that a client frees before it has read a ServerHello."""
    planted = f"    OPENSSL_free(OPENSSL_malloc({size}));\n"
    return Edit("ssl/statem/statem_clnt.c", SERVER_HELLO, planted + SERVER_HELLO)


FIELD = Edit("ssl/ssl_local.h", "    SSL *user_ssl;\n", "    SSL *user_ssl;\n    char planted[16];\n")
PATCHES = {
    "leak": Patch(
        (
            Edit(
                "ssl/statem/statem_srvr.c",
                "    version = usetls13 ? TLS1_2_VERSION : s->version;\n    if (!WPACKET_put_bytes_u16(pkt, version)\n",
                "    version = usetls13 ? TLS1_2_VERSION : s->version;\n    OPENSSL_malloc(24);\n"
                "    if (!WPACKET_put_bytes_u16(pkt, version)\n",
            ),
        ),
        (
            r"^\*\*.*: a leak of 24 B per server session; .* changed \(\d+ worse\)\*\*$",
            r"^- Leak in .*: server session, closed: 0 -> 24 B .*all of it in tls_construct_server_hello \(statem_srvr",
        ),
    ),
    "field": Patch(
        (FIELD,),
        tuple(
            rf"^- More in .*: {role} session, .* \(\+16 B, exact, .*all of it in ossl_ssl_connection_new_int \(ssl_lib"
            for role in ("client", "server")
        ),
    ),
    "shrunk-struct": Patch(
        (FIELD,),
        tuple(
            rf"^- Less in .*: {role} session, .* \(-16 B, exact, .*all of it in ossl_ssl_connection_new_int \(ssl_lib"
            for role in ("client", "server")
        ),
        reverts=True,
    ),
    "moved": Patch(
        (
            Edit("ssl/ssl_lib.c", NEW_CONNECTION, NEW_PARAM + NEW_CONNECTION),
            Edit("ssl/ssl_lib.c", PARAM, PARAM.replace("X509_VERIFY_PARAM_new", "new_param")),
        ),
        (
            r"^\*\*.*: no change in \d+ figures\*\*$",
            r"^- Moved in .*: server session, established: .* B more in X509_VERIFY_PARAM_new \(.*\) < new_param",
        ),
    ),
    "temporary": Patch(
        (
            Edit(
                "ssl/statem/statem_clnt.c",
                SERVER_HELLO,
                "    for (int i = 0; i < 3; i++)\n        OPENSSL_free(OPENSSL_malloc(100));\n" + SERVER_HELLO,
            ),
        ),
        (
            r"^- More in .*: client session, up to established, allocations: .* \(\+3 blocks, .*, "
            r"3 blocks more \(300 B\) in tls_process_server_hello \(statem_clnt",
        ),
    ),
    "buffer": Patch(
        (
            Edit(
                "ssl/record/methods/tls_common.c",
                "        if (len == 0)\n            len = defltlen;\n",
                "        if (len == 0)\n            len = defltlen + 4096;\n",
            ),
        ),
        (r"^- More in .*: client session, .*\(\+4,096 B, exact, .*all of it in tls_setup_write_buffer \(tls_common",),
    ),
    "kept-buffers": Patch(
        (
            Edit(
                "ssl/ssl_lib.c",
                "    return rl->rrlmethod->free_buffers(rl->rrl)\n        && rl->wrlmethod->free_buffers(rl->wrl);\n",
                "    return rl->rrlmethod->free_buffers(rl->rrl);\n",
            ),
        ),
        (r"^- More in .*: server session, (from )?idle( on)?: .*all of it in tls_setup_write_buffer \(tls_common",),
    ),
    "grown-temporary": Patch(
        (temporary_block(9000),),
        (
            r"^- More in .*: client session, up to established, bytes allocated: .*"
            r"all of it in tls_process_server_hello \(statem_clnt",
        ),
        before=(temporary_block(3000),),
    ),
    "kept-certificate": Patch(
        (
            Edit(
                "ssl/statem/statem_clnt.c",
                "    s->session->peer = x;\n    s->session->verify_result",
                "    X509_free(x);\n    s->session->peer = X509_dup(x);\n    s->session->verify_result",
            ),
        ),
        (r"^- More in .*: client session, from .* on: .*X509_dup \(.*\) < tls_post_process_server_certificate, at",),
    ),
    "grown-connection": Patch(
        (Edit("ssl/ssl_local.h", "    SSL *user_ssl;\n", "    SSL *user_ssl;\n    char planted[256];\n"),),
        tuple(
            rf"^- More in .*: {role} session, from phase created on: .*\+256 B, exact.* ossl_ssl_connection_new_int \("
            for role in ("client", "server")
        ),
    ),
    "large-temporary": Patch(  # one handshake is under way at a time: the peak of a session, a slope, is as before
        (
            Edit(
                "ssl/statem/statem_clnt.c",
                SERVER_HELLO,
                "    OPENSSL_free(OPENSSL_malloc(100000));\n" + SERVER_HELLO,
            ),
        ),
        (
            r"^- More in .*: client session, up to established, allocations: .*"
            r"1 block more \(100,000 B\) in tls_process_server_hello \(statem_clnt",
        ),
    ),
}


def plant(name: str, edits: tuple[Edit, ...]) -> Path:
    """Return a tree of OpenSSL with these edits, below build/patches."""
    from tlsmem.build import sources
    from tlsmem.config.definitions import stacks

    place = FOLDER / name
    source = sources.provide_tree(
        STACK, stacks()[STACK].source, ROOT / "build/sources", ROOT / "build/logs/patches.log"
    )
    shutil.rmtree(place, ignore_errors=True)
    shutil.copytree(source, place)
    for edit in edits:
        file = place / edit.file
        text = file.read_text()
        if text.count(edit.old) != 1:
            sys.exit(f"check-patches: {name}: {edit.file} of {STACK} has not once what the edit replaces")
        file.write_text(text.replace(edit.old, edit.new))
    return place


def first_lines(name: str, patch: Patch, base: Path) -> list[str]:
    """Return the verdict and the sentences of the comparison of the tree with the patched one."""
    patched = plant(name, patch.edits)
    unpatched = plant(f"{name}-before", patch.before) if patch.before else base
    old, new = (patched, unpatched) if patch.reverts else (unpatched, patched)
    sides = [f"--a=openssl@path:{old}", f"--b=openssl@path:{new}", f"--out={FOLDER / 'runs'}"]
    command = [
        sys.executable,
        str(ROOT / "tools/tls-memtest"),
        "diff",
        "builds",
        *sides,
        f"--suites={SUITE}",
        "--format=markdown",
    ]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=False)
    if done.returncode not in (0, 3):
        sys.exit(f"check-patches: {name}: the comparison failed, exit {done.returncode}")
    return [line for line in done.stdout.splitlines() if line.startswith(("**openssl", "- "))]


def check(name: str, patch: Patch, base: Path) -> bool:
    """Print the first lines; return whether they have what is expected of them."""
    print(f"check-patches: {name}", flush=True)
    found = first_lines(name, patch, base)
    print("\n".join(found), flush=True)
    missing = [one for one in patch.expected if not any(re.search(one, line) for line in found)]
    for one in missing:
        print(f"check-patches: {name}: no line matches {one}", flush=True)
    return not missing


def main() -> None:
    kept = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(description=__doc__, epilog=EXAMPLES, formatter_class=kept)
    parser.add_argument("patches", nargs="*", metavar="PATCH", help=f"of {', '.join(PATCHES)} (default: all)")
    given = parser.parse_args()
    if unknown := set(given.patches) - set(PATCHES):
        parser.error(f"no patch {', '.join(sorted(unknown))}; there are: {', '.join(PATCHES)}")
    venv.activate()
    base = plant("base", ())
    wrong = [name for name in given.patches or PATCHES if not check(name, PATCHES[name], base)]
    if wrong:
        sys.exit(f"check-patches: the first lines do not tell what was planted: {', '.join(wrong)}")
    print("check-patches: the first lines tell what was planted, of each patch")


if __name__ == "__main__":
    run(main)
