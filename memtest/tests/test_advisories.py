"""What the register of advisories is measured with: stacks that compress certificates, and that check staples."""

import json
import shlex
import subprocess
from pathlib import Path

import pytest
from test_stall import MUTUAL, ROOT, SERVER_ONLY, TLS13, kept, phases, pinned, stall

from tests.support import built_harness
from tlsmem.config.definitions import stacks
from tlsmem.run import certificates

COMPRESSING = ("openssl+compress@3.5.4", "openssl+compress@4.0.3", "boringssl+compress@5.4.0", "awslc+compress@5.12.0")
STAPLED = [f"certs={ROOT}/memtest/certs/rsa-2048-empty-staple"]


def received(found):
    return found["stalled"]["received_bytes"] // 10


def padded(kind):
    certificates.make_padded(kind)
    return f"certs={ROOT}/build/certs/{kind}"


@pytest.mark.parametrize("stack", COMPRESSING)
def test_a_padded_chain_of_a_server_arrives_compressed_and_is_held_whole(stack):
    harness = built_harness.find(stack)
    found = phases(harness, "server-flight", *TLS13, padded("rsa-2048-padded-server-90k"))
    plain = phases(harness, "server-flight", *TLS13, *SERVER_ONLY)
    assert received(found) < 3_000
    assert pinned(found, "client") - pinned(plain, "client") > 90_000
    assert kept(found, "client") == 0


@pytest.mark.parametrize("stack", [one for one in COMPRESSING if one.startswith("openssl")])
def test_a_server_decompresses_what_a_client_sends(stack):
    harness = built_harness.find(stack)
    found = phases(harness, "client-flight", *TLS13, padded("rsa-2048-padded-client-90k"), "auth=mutual")
    plain = phases(harness, "client-flight", *TLS13, *MUTUAL)
    assert received(found) - received(plain) < 100  # the plain chain is compressed too
    assert pinned(found, "server") - pinned(plain, "server") > 180_000


@pytest.mark.parametrize(("stack", "bytes_kept"), [("openssl+staple@4.0.1", 60_253), ("openssl+staple@4.0.2", 0)])
def test_a_staple_without_an_answer_is_freed_since_the_correction(stack, bytes_kept):
    """What stays is the parsed response with its signature of 60,001 bytes, for each session."""
    harness = built_harness.find(stack)
    assert kept(phases(harness, "server-flight", *TLS13, *STAPLED), "client") == 10 * bytes_kept
    assert kept(phases(harness, "server-flight", *TLS13, *SERVER_ONLY), "client") == 0


def build_one_call(stack, program):
    """Compile the program of its own with the libraries of a stack that is built."""
    about, place = stacks()[stack], ROOT / "build/stacks" / stack
    if not (place / "libssl.a").is_file():
        pytest.skip(f"{stack} is not built: tools/tls-memtest build {stack}")
    source = next((ROOT / "build/sources").glob(f"*{about.source.version}/{about.source.tree}/include"))
    words = ["gcc", "-O1", "-o", program, ROOT / "memtest/tests/one_call.c", f"-I{place}/include", f"-I{source}"]
    libraries = [place / name for name in about.libraries]
    subprocess.run([*words, *libraries, *shlex.split(" ".join(about.link))], check=True)


@pytest.mark.parametrize(
    ("stack", "what", "point", "certs"),
    [
        ("openssl@3.5.5", "announced", "announced-hello", "rsa-2048"),
        ("openssl+compress@3.5.4", "flight", "client-flight", "rsa-2048-padded-client-90k"),
        ("openssl+compress@3.5.4", "flight", "client-flight", "rsa-2048-padded-client-15m"),
    ],
)
def test_a_program_of_its_own_finds_the_same_to_the_byte(tmp_path, stack, what, point, certs):
    """Without the core, the driver and the heap meter: by the library's own hooks for memory."""
    harness = built_harness.find(stack)
    build_one_call(stack, tmp_path / "one_call")
    place = Path(padded(certs)[len("certs=") :]) if what == "flight" else ROOT / "memtest/certs" / certs
    done = subprocess.run([tmp_path / "one_call", place, what], capture_output=True, text=True, check=True)
    told = json.loads(done.stdout)
    suite = [f"certs={place}", *["auth=mutual"] * (what == "flight")]
    found = phases(harness, point, *TLS13, *suite, sessions=2)
    silent, stalled = (found[name]["heap"]["server"] for name in ("connected", "stalled"))
    assert told["peak"] == stalled["peak_bytes"] - silent["live_bytes"] > 150_000
    assert told["held"] == stalled["live_bytes"] - silent["live_bytes"] == pinned(found, "server", pairs=1)


@pytest.mark.parametrize(
    ("stack", "least", "most"), [("gnutls@3.8.9", 50_000_000, 60_000_000), ("gnutls@3.8.13", 0, 2_000_000)]
)
def test_name_constraints_are_intersected_one_with_each_other_before_the_correction(stack, least, most):
    suite = [f"certs={ROOT}/memtest/certs/rsa-2048-constraints", "auth=mutual"]
    found = phases(built_harness.find(stack), "client-flight", *TLS13, *suite, sessions=2)
    silent, stalled = (found[name]["heap"]["server"] for name in ("connected", "stalled"))
    assert least < stalled["peak_bytes"] - silent["live_bytes"] < most


def test_a_second_key_share_of_a_group_is_refused_since_the_correction():
    phases(built_harness.find("wolfssl@5.7.2"), "hello-key-shares", *TLS13, *SERVER_ONLY)
    done, lines = stall(built_harness.find("wolfssl@5.8.4"), "hello-key-shares", *TLS13, *SERVER_ONLY)
    assert done.returncode == 77 and "Key Share" in lines[-1]["reason"]
