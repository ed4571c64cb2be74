"""What the programs of CPython share: their options, contexts of TLS, requests, and the heap of the interpreter.

Standard library only."""

import argparse
import gc
import json
import os
import re
import ssl
import sys
import threading
from collections.abc import Callable

VERSIONS = {"TLSv1.2": ssl.TLSVersion.TLSv1_2, "TLSv1.3": ssl.TLSVersion.TLSv1_3}
BACKLOG = 4096
USED = re.compile(r"^# bytes in allocated blocks\s*=\s*([\d,]+)", re.MULTILINE)
ARENAS = re.compile(r"^\d+ arenas \* \d+ bytes/arena\s*=\s*([\d,]+)", re.MULTILINE)


def parse_options() -> argparse.Namespace:
    """Return the options, which all runtimes' programs take."""
    parser = argparse.ArgumentParser()
    parser.add_argument("-role", choices=("server", "client"), default="server")
    parser.add_argument("-plain", default="127.0.0.1:8080")
    parser.add_argument("-tls", default="127.0.0.1:8443")
    parser.add_argument("-certs", default=".")
    parser.add_argument("-protocol", choices=VERSIONS, default="TLSv1.3")
    parser.add_argument("-full", type=int, default=16384)
    return parser.parse_args()


def split_address(address: str) -> tuple[str, int]:
    host, _, port = address.rpartition(":")
    return host, int(port)


def make_server_context(options: argparse.Namespace) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = context.maximum_version = VERSIONS[options.protocol]
    context.load_cert_chain(f"{options.certs}/chain.pem", f"{options.certs}/key.pem")
    return context


def make_client_context(options: argparse.Namespace) -> ssl.SSLContext:
    """Return a context that verifies the server's certificate and name."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.minimum_version = context.maximum_version = VERSIONS[options.protocol]
    context.load_verify_locations(f"{options.certs}/root.pem")
    return context


def read_length(head: bytes) -> int:
    """Return the Content-Length of a head; 0 without one."""
    for line in head.split(b"\r\n")[1:]:
        name, _, value = line.partition(b":")
        if name.strip().lower() == b"content-length":
            return int(value)
    return 0


def make_answer(head: bytes, full: int) -> bytes:
    body = b"x" * (full if head.startswith(b"GET /full ") else 1)
    return b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s" % (len(body), body)


def make_request(full: int) -> bytes:
    """Return a request for /small, or with a body for /full."""
    if not full:
        return b"GET /small HTTP/1.1\r\nHost: localhost\r\n\r\n"
    return b"GET /full HTTP/1.1\r\nHost: localhost\r\nContent-Length: %d\r\n\r\n%s" % (full, b"x" * full)


def read_heap() -> dict[str, object]:
    """Return the bytes of pymalloc's blocks in use, and of its arenas: it has what is 512 bytes and smaller.

    CPython prints its statistics to file descriptor 2, which leads into a file of memory meanwhile."""
    own, file = os.dup(2), os.memfd_create("statistics")
    try:
        os.dup2(file, 2)
        sys._debugmallocstats()
    finally:
        os.dup2(own, 2)
        os.close(own)
    text = os.pread(file, os.fstat(file).st_size, 0).decode()
    os.close(file)
    used, arenas = (pattern.search(text) for pattern in (USED, ARENAS))
    if not used or not arenas:  # PYTHONMALLOC=malloc: there is no pymalloc
        return {"used_bytes": 0, "committed_bytes": 0, "parts": {}}
    return {
        "used_bytes": int(used[1].replace(",", "")),
        "committed_bytes": int(arenas[1].replace(",", "")),
        "parts": {"blocks": sys.getallocatedblocks()},
    }


def collect() -> dict[str, object]:
    gc.collect()
    gc.collect()
    return {}


COMMANDS: dict[str, Callable[..., dict[str, object]]] = {"heap": read_heap, "collect": collect}


def reply(name: str, answer: object) -> None:
    """Answer a command in one line."""
    print(name, json.dumps(answer), flush=True)


def answer_commands() -> None:
    """Answer each line on stdin by one on stdout, and end the process when stdin ends."""
    for line in sys.stdin:
        name, *words = line.split()
        try:
            reply(name, COMMANDS[name](*words))
        except Exception as error:  # the run that asked has the sentence
            reply("failed", f"{type(error).__name__}: {error}")
    os._exit(0)


def answer_in_thread() -> None:
    threading.Thread(target=answer_commands, daemon=True).start()
