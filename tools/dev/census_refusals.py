"""Programs that the census refuses, and the sentence that it has for each."""

import os
import subprocess
import tempfile
import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from typing import NamedTuple

from census_servers import PORTS, PYTHON, TlsServer, start
from tlsmem.base.errors import UserError
from tlsmem.census.census import take_census
from tlsmem.live import servers
from tlsmem.live.network import Network
from tlsmem.live.servers import CERTS

JEMALLOC = Path("/usr/lib/x86_64-linux-gnu/libjemalloc.so.2")
NOBODY = 65534
IPV4 = "-Djava.net.preferIPv4Stack=true"  # of Java, which else listens on IPv6
JAVA = """\
class Hold {
    public static void main(String[] words) throws Exception {
        javax.net.ssl.SSLContext.getDefault().getServerSocketFactory().createServerSocket(%d);
        Thread.sleep(600_000);
    }
}
"""
PAUSE_32_BIT = ".globl _start\n_start: movl $29, %eax; int $0x80; jmp _start\n"


class Refusal(NamedTuple):
    """`say` returns what the census says of it; None where it was counted."""

    program: str
    say: Callable[[Network], str | None]


def refused(pid: int) -> str | None:
    """Return the sentence of the census without the number of the process."""
    try:
        take_census([pid])
    except UserError as error:
        return str(error).removeprefix(f"{pid}").lstrip(" :").replace(str(pid), "PID")
    return None


def say_of_go(network: Network) -> str | None:
    program = servers.find_program(servers.GO_SERVER)
    server = TlsServer("Go", program.path, "", lambda _: go_words())
    with start(server, network) as running:
        return refused(running.pid)


def go_words() -> list[str]:
    words = ["-plain", f"127.0.0.1:{PORTS.plain}", "-tls", f"127.0.0.1:{PORTS.tls}", "-protocol", "TLSv1.3"]
    return [*words, "-certs", str(CERTS), "-full", "1"]


def say_of_java(network: Network) -> str | None:
    with tempfile.TemporaryDirectory(prefix="memtest-census-") as folder:
        source = Path(folder, "Hold.java")
        source.write_text(JAVA % PORTS.tls)
        server = TlsServer("Java", "java", "default-jdk-headless", lambda _: [IPV4, str(source)])
        with start(server, network) as running:
            return refused(running.pid)


def say_of_jemalloc(network: Network) -> str | None:
    if not JEMALLOC.exists():
        raise UserError("jemalloc is not installed: apt install libjemalloc2")
    with start(PYTHON, network, {"LD_PRELOAD": str(JEMALLOC)}) as running:
        return refused(running.pid)


def say_of_another_user(network: Network) -> str | None:
    """Return what the census says to a user who is not that of the process."""
    with start(PYTHON, network) as running, ProcessPoolExecutor(1, get_context("fork"), become_nobody) as pool:
        return pool.submit(refused, running.pid).result()


def say_of_32_bit(_: Network) -> str | None:
    with tempfile.TemporaryDirectory(prefix="memtest-census-") as folder:
        program = Path(folder, "pause")
        words = ["gcc", "-m32", "-nostdlib", "-static", "-x", "assembler", "-o", str(program), "-"]
        subprocess.run(words, input=PAUSE_32_BIT, text=True, check=True)
        with subprocess.Popen([program]) as running:
            try:
                while Path(f"/proc/{running.pid}/comm").read_text() != "pause\n":  # exec has begun, and is not done
                    time.sleep(0.001)
                return refused(running.pid)
            finally:
                running.kill()


def refuse_server(server: TlsServer) -> Refusal:
    """Return the refusal of a server that is linked to another allocator than glibc's."""

    def say(network: Network) -> str | None:
        with start(server, network) as running:
            return refused(running.pid)

    return Refusal(server.title, say)


def become_nobody() -> None:
    os.setgroups([])
    os.setgid(NOBODY)
    os.setuid(NOBODY)


REFUSALS = (
    Refusal("Go, crypto/tls", say_of_go),
    Refusal("Java, JSSE", say_of_java),
    Refusal("CPython with jemalloc", say_of_jemalloc),
    Refusal("CPython of root, to another user", say_of_another_user),
    Refusal("a 32-bit program", say_of_32_bit),
)
