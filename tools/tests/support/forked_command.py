"""Commands of tools/ in processes that need not import the packages of .venv.

`run` stands for subprocess.run: a process with its own directory, environment, stdout and stderr, and the exit status
of the interpreter. The process is a fork of a server that has imported the packages that take long, and the modules of
this repository. A script beside a link to them is told that the repository is there; a script beside modules of its own
forgets these and imports those. The workers of pytest-xdist share one server, which `share_server` starts in their
parent; any other process starts one of its own.

Not for a test of what a start costs or needs: a package that a command forgets to import is there all the same. Each
command also has tests that start it by subprocess.run."""

import atexit
import gc
import importlib
import json
import os
import pkgutil
import runpy
import select
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from pathlib import Path
from types import FunctionType, ModuleType
from typing import BinaryIO

from matplotlib import figure
from PIL import Image

PACKAGES = (
    "asyncio",
    "hdrh.histogram",
    "jinja2",
    "matplotlib.backends.backend_agg",
    "matplotlib.backends.backend_svg",
    "matplotlib.pyplot",
    "numpy",
    "pydantic.functional_validators",
    "pydantic.json_schema",
    "pydantic.types",
    "rich.console",
    "rich.progress",
    "rich.table",
    "scipy.stats",
    "statistics",
    "tomllib",
    "backports.zstd",
)
TOOLS = Path(__file__).resolve().parents[2]
REQUEST_BYTES = 1 << 20
ADDRESS = "MEMTEST_FORKED_COMMAND"  # in the environment of workers: the abstract socket of the server that they share
servers: dict[int, socket.socket] = {}  # by the process that asks it
attributes: list[tuple[ModuleType, str]] = []  # of the project's modules, that are paths of this repository
functions: list[FunctionType] = []  # that have such paths as defaults


def run(
    command: Sequence[object],
    *,
    cwd: Path | None = None,
    env: Mapping[str, str] | None = None,
    stdout: int = subprocess.PIPE,
    stderr: int = subprocess.PIPE,
    timeout: float | None = None,
    drawn: bool = True,
) -> subprocess.CompletedProcess[str]:
    """Run `command`, which is sys.executable, a script and its arguments; return its texts and exit status.

    Unless `drawn`, pictures are files of one pixel: for a test of something else that the command does."""
    words = [os.fspath(word) for word in command]
    assert words[0] == sys.executable
    request = {"words": words, "cwd": os.fspath(cwd or os.getcwd()), "env": dict(os.environ if env is None else env)}
    request["drawn"] = drawn
    ends = {"status": os.pipe()}
    ends |= {name: os.pipe() for name, to in (("stdout", stdout), ("stderr", stderr)) if to == subprocess.PIPE}
    given = [ends[name][1] if name in ends else to for name, to in (("stdout", stdout), ("stderr", stderr))]
    try:
        socket.send_fds(server(), [json.dumps(request).encode()], [*given, ends["status"][1]])
    finally:
        for _, write_end in ends.values():
            os.close(write_end)
    try:
        found = read_all({read_end: name for name, (read_end, _) in ends.items()}, words, timeout)
    finally:
        for read_end, _ in ends.values():
            os.close(read_end)
    _, status = map(int, found["status"].split())
    texts = {name: found[name].decode() for name in ("stdout", "stderr") if name in found}
    return subprocess.CompletedProcess(words, os.waitstatus_to_exitcode(status), **texts)


def read_all(names: dict[int, str], words: list[str], timeout: float | None) -> dict[str, bytes]:
    """What is read of each descriptor until all have ended; first of `status` is the process, which a timeout kills."""
    found = dict.fromkeys(names.values(), b"")
    until = time.monotonic() + timeout if timeout else None
    reading = set(names)
    while reading:
        ready, _, _ = select.select(list(reading), [], [], until and max(0, until - time.monotonic()))
        if not ready:
            os.kill(int(found["status"].split()[0]), signal.SIGKILL)
            raise subprocess.TimeoutExpired(words, timeout, found.get("stdout"), found.get("stderr"))
        for descriptor in ready:
            read = os.read(descriptor, 1 << 16)
            found[names[descriptor]] += read
            if not read:
                reading.remove(descriptor)
    return found


def server() -> socket.socket:
    """Return the way to a server that ends when the process that started it does."""
    if os.getpid() not in servers:
        if address := os.environ.get(ADDRESS):
            here = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
            here.connect(f"\0{address}")
        else:
            here = start_server()
        here.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, REQUEST_BYTES)
        servers[os.getpid()] = here
    return servers[os.getpid()]


def share_server() -> None:
    """Start a server for the processes that this one starts from now on; it ends with this one."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as listening:
        os.environ[ADDRESS] = f"memtest-forked-command-{os.getpid()}"
        listening.bind(f"\0{os.environ[ADDRESS]}")
        listening.listen()
        servers[os.getpid()] = start_server(listening)


def start_server(listening: socket.socket | None = None) -> socket.socket:
    """Start a server that listens there, or serves this process alone; return the way to it, with which it ends."""
    here, there = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    descriptors = [there.fileno(), *([listening.fileno()] if listening else [])]
    with there:
        command = [sys.executable, __file__, *map(str, descriptors)]
        subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, pass_fds=descriptors, cwd="/")
    return here


def accept(listening: socket.socket, way: socket.socket) -> socket.socket | None:
    """Fork for each process that connects and return the way to it in the child; None in the server when `way` ends."""
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # nobody waits for them
    while listening in select.select([listening, way], [], [])[0]:
        connected, _ = listening.accept()
        if not os.fork():
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            listening.close()
            way.close()
            return connected
        connected.close()
    return None


def serve(way: socket.socket) -> dict | None:
    """Fork for each request and return it in the child; return None in the server, when nobody can ask any more."""
    while True:
        message, descriptors, _, _ = socket.recv_fds(way, REQUEST_BYTES, 3)
        if not message:
            return None
        stdout, stderr, status = descriptors
        child = os.fork()
        if not child:
            way.close()
            os.dup2(stdout, 1)
            os.dup2(stderr, 2)
            for descriptor in descriptors:
                os.close(descriptor)
            return json.loads(message)
        os.write(status, f"{child} ".encode())
        os.close(stdout)
        os.close(stderr)
        os.write(status, str(os.waitpid(child, 0)[1]).encode())
        os.close(status)


def become(request: dict) -> str:
    """Make this process what the interpreter is when it starts a script; return the script."""
    signal.signal(signal.SIGINT, signal.default_int_handler)
    os.chdir(request["cwd"])
    os.environ.clear()
    os.environ.update(request["env"])
    sys.orig_argv = request["words"]
    sys.argv = request["words"][1:]
    script = Path(sys.argv[0]).resolve()
    sys.path[0] = str(script.parent)
    if (script.parent / "tlsmem").is_symlink():
        move_root(script.parent.parent)
    elif TOOLS not in script.parents:
        forget_modules()
    if not request["drawn"]:
        figure.Figure.savefig = save_one_pixel
    return sys.argv[0]


def save_one_pixel(_: figure.Figure, to: Path | BinaryIO, *, format: str, **__: object) -> None:
    """Write a file of this format, in place of the picture."""
    with to.open("wb") if isinstance(to, Path) else nullcontext(to) as file:
        if format == "svg":
            file.write(b"<svg xmlns='http://www.w3.org/2000/svg'/>")
        else:
            Image.new("RGB", (1, 1)).save(file, format)


def import_modules() -> None:
    """Import every module of the project from this repository."""
    sys.path[0] = str(TOOLS)
    import tlsmem

    for module in pkgutil.walk_packages(tlsmem.__path__, "tlsmem."):
        importlib.import_module(module.name)
    find_paths()
    from tests.support import page_libraries

    page_libraries.forbid_fetching()


def is_here(value: object) -> bool:
    return isinstance(value, Path) and value.is_relative_to(TOOLS.parent)


def find_paths() -> None:
    """Note in the server where the project's modules keep paths of this repository. To look at each of their values
    in a command would copy what the process shares with the server: 40 ms."""
    for module in [module for name, module in sys.modules.items() if name.partition(".")[0] == "tlsmem"]:
        for name, value in vars(module).items():
            if is_here(value):
                attributes.append((module, name))
            for one in vars(value).values() if isinstance(value, type) else [value]:
                if isinstance(one, FunctionType) and any(map(is_here, one.__defaults__ or ())):
                    functions.append(one)


def move_root(root: Path) -> None:
    """Put `root` for this repository into all paths of the project's modules, and into the defaults of functions.

    To import the modules again would take a third of most commands' time."""

    def move(value: object) -> object:
        return root / value.relative_to(TOOLS.parent) if is_here(value) else value

    for module, name in attributes:
        setattr(module, name, move(getattr(module, name)))
    for function in functions:
        function.__defaults__ = tuple(map(move, function.__defaults__))


def forget_modules() -> None:
    """Let the project's modules be imported again, from wherever sys.path then leads."""
    for name in [name for name in sys.modules if name.partition(".")[0] == "tlsmem"]:
        del sys.modules[name]
    sys.excepthook = sys.__excepthook__


def run_to_end(script: str) -> None:
    """Run the script and end with its status, but take no module apart: that would copy all memory that the process
    shares with the server, 80 ms for each command. An error, and an output that cannot be written, are left to the
    interpreter."""
    try:
        runpy.run_path(script, run_name="__main__")
        status = 0
    except SystemExit as end:
        if not isinstance(end.code, int | None):
            raise
        status = end.code or 0
    threading._shutdown()  # waits for threads, as the interpreter does before it calls these functions
    atexit._run_exitfuncs()
    try:
        sys.stdout.flush()
        sys.stderr.flush()
    except (OSError, ValueError):
        sys.exit(status)
    os._exit(status & 0xFF)


if __name__ == "__main__":
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # it ends when the tests do
    for package in PACKAGES:
        __import__(package)
    import_modules()
    gc.collect()
    gc.freeze()  # a command that ends does not walk, and so copy, what it shares with the server
    way, *listening = (socket.socket(fileno=int(word)) for word in sys.argv[1:])
    asking = accept(listening[0], way) if listening else way
    if asking and (request := serve(asking)):
        run_to_end(become(request))
    os._exit(0)  # a server has nothing to write, and DuckDB would complain of modules that are not taken apart
