"""The heap meter on programs that are not ours, as `heap run` follows them: exact bytes of known programs."""

import contextlib
import json
import os
import shutil
import signal
import struct
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.support import forked_command
from tlsmem.monitor.tree import ProcessTree, descendants
from tlsmem.run import heap_page

ROOT = Path(__file__).resolve().parents[2]
HEAP_RUN = sys.executable, ROOT / "tools/tls-memtest", "heap", "run"
HEAP_ATTACH = sys.executable, ROOT / "tools/tls-memtest", "heap", "attach"
METER = ROOT / "build/core/libheapmeter.so"
SOURCES = ROOT / "memtest/tests"
CXX = """
#include <cstdlib>
#include <memory>
#include <vector>
static std::vector<std::unique_ptr<char[]>> kept;
int main(int, char **argv)
{
    kept.reserve(100);
    for (int i = 0; i < atoi(argv[1]); i++)
        kept.push_back(std::make_unique<char[]>(1000));
    std::quick_exit(0);
}
"""
PYTHON = "import os, sys; kept = [bytes(1000) for _ in range(int(sys.argv[1]))] + [None] * 9000; os._exit(0)"


COUNTED = os.environ | {"PYTHONMALLOC": "malloc"}  # else a part of Python's memory is not counted, which is a sentence


def heap(*words, env=COUNTED):
    verb = HEAP_RUN if "--" in words else HEAP_ATTACH
    return forked_command.run([*verb, *map(str, words)], timeout=60, env=env)


def followed(*command, env=COUNTED):
    """Exit status and last words of each program, as tls-memtest heap --json has them."""
    done = heap("--once", "--json", "--", *command, env=env)
    lines = [json.loads(line) for line in done.stderr.splitlines() if line.startswith("{")]
    return done.returncode, [line for line in lines if line["record"] == "program"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("programs")


@pytest.fixture(scope="module")
def family(folder):
    command = ["gcc", "-std=gnu11", "-O2", SOURCES / "family.c", "-o", folder / "family", "-lpthread"]
    subprocess.run(command, check=True)
    return folder / "family"


SHORT = {
    "static": "int main(void) { return 4; }",
    "besides": "void *malloc(unsigned long); void *mi_malloc(int n) { return malloc(n); } int main(void) { return 0; }",
    "stub": "#include <stdlib.h>\nvoid *(*volatile get)(size_t); int main(void) { get = malloc; return !get(5000); }",
}
FLAGS = {"static": ["-static"], "stub": ["-fno-pic", "-no-pie"]}  # the second: malloc has an address in the program


@pytest.fixture(scope="module")
def compiled(folder):
    """The program of this name."""

    def compile_program(name):
        program, source = folder / name, SOURCES / f"{name}.c"
        if name in SHORT:
            source = folder / f"{name}.c"
            source.write_text(SHORT[name])
        if not program.exists():
            flags = FLAGS.get(name, [])
            subprocess.run(["gcc", "-std=gnu11", "-O1", "-fno-builtin", *flags, source, "-o", program], check=True)
        return program

    return compile_program


def test_forks_threads_and_exec_are_counted_to_the_byte(family):
    status, programs = followed(family)
    children = sorted((one for one in programs if one["inherited_blocks"]), key=lambda one: one["cumulative_bytes"])
    # What was forked may be seen before the exec of its parent.
    before, after = ([one for one in programs if one["state"] == state and not one["inherited_blocks"]][-1]
                     for state in ("replaced", "ended"))  # fmt: skip
    assert status == 5 and len(programs) == 5 and len(children) == 3
    assert (before["pid"], before["state"], before["live_bytes"]) == (after["pid"], "replaced", 100_000)
    assert (after["live_bytes"], after["live_blocks"], after["cumulative_bytes"]) == (490, 7, 490)
    threads = children[0]["cumulative_bytes"] - 20_000  # what starting two threads takes
    for k, child in enumerate(children, start=1):
        assert child["program"] == "family" and child["state"] == "ended"
        assert (child["inherited_bytes"], child["inherited_blocks"]) == (100_000, 1000)
        assert child["cumulative_bytes"] == 20_000 * k + threads and child["cumulative_blocks"] == 20 * k + 2
        assert child["live_bytes"] == 100_000 + 10_000 * k + threads and child["live_blocks"] == 1000 + 10 * k + 2
        assert child["live_bytes"] <= child["peak_bytes"] <= 100_000 + 20_000 * k + threads


@pytest.mark.thorough
def test_what_a_process_was_before_an_exec_is_kept(family):
    process = subprocess.Popen(
        [*HEAP_RUN, "--json", "--interval", "0.05", "--", family, "wait"],
        stdin=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    while '"live_bytes": 100000,' not in process.stderr.readline():  # it has been seen: go on
        pass
    said = process.communicate("\n", timeout=60)[1].splitlines()
    last = [json.loads(line) for line in said][-6:-1]
    before, after = (next(one for one in last if one["state"] == state and not one["inherited_blocks"])
                     for state in ("replaced", "ended"))  # fmt: skip
    assert process.returncode == 5 and before["pid"] == after["pid"]
    assert (before["live_bytes"], before["live_blocks"], before["peak_bytes"]) == (100_000, 1000, 100_000)
    assert (after["live_bytes"], after["peak_blocks"]) == (490, 7)


def test_a_shell_pipeline_is_its_programs():
    status, programs = followed("sh", "-c", "head -c 300000 /dev/zero | sort -z | wc -c; exit 3")
    assert status == 3 and {one["program"] for one in programs} == {"sh", "head", "sort", "wc"}
    assert all(one["peak_bytes"] >= one["live_bytes"] for one in programs)
    replaced = [one for one in programs if one["state"] != "ended"]
    assert all((one["state"], one["program"]) == ("replaced", "sh") and one["inherited_blocks"] for one in replaced)
    assert len(programs) - len(replaced) == 4


@pytest.mark.thorough
@pytest.mark.skipif(not shutil.which("g++"), reason="needs g++")
def test_operators_of_cxx_are_counted_to_the_byte(folder):
    source = folder / "kept.cpp"
    source.write_text(CXX)
    subprocess.run(["g++", "-std=c++17", "-O1", source, "-o", folder / "kept"], check=True)
    (few,), (many,) = (followed(folder / "kept", count)[1] for count in (10, 60))
    assert many["live_bytes"] - few["live_bytes"] == 50 * 1000
    assert many["live_blocks"] - few["live_blocks"] == 50


def test_python_is_counted_to_the_byte():
    """What is not in arenas."""
    command = [sys.executable, "-S", "-c", PYTHON]
    (few,), (many,) = (followed(*command, count, env=os.environ)[1] for count in (1000, 3000))
    lists = 2000 * 8  # a pointer for each
    grown = many["live_bytes"] - few["live_bytes"] - lists
    assert grown == 2000 * sys.getsizeof(bytes(1000))
    assert many["live_blocks"] - few["live_blocks"] == 2000


@pytest.mark.parametrize("execs", [0, 1, 8])
def test_a_program_that_becomes_another_at_once_is_counted_in_all(compiled, execs):
    """By every function of the exec family."""
    status, programs = followed(compiled("execs"), execs)
    fields = ("pid", "state", "live_bytes", "peak_bytes", "cumulative_bytes", "cumulative_blocks")
    counts = [tuple(one[field] for field in fields) for one in programs]
    pid = programs[0]["pid"]
    assert status == 0
    assert counts == [(pid, "replaced", 500, 500, 500, 5)] * execs + [(pid, "ended", 500, 500, 500, 5)]


def test_an_orphan_is_counted_to_its_first_program(compiled):
    """Its parent has ended before it begins."""
    script = f"((sleep 0.1; exec {compiled('execs')} 2) & exec true); sleep 0.5"
    status, programs = followed("sh", "-c", script)
    ran = [one["cumulative_bytes"] for one in programs if one["program"] == "execs"]
    assert (status, ran) == (0, [500] * 3)


def test_what_is_between_a_fork_and_an_exec_is_one_row_and_holds_nothing(compiled):
    become = f"os.execv('{compiled('execs')}', ['execs'])"
    script = f"import os; kept = bytes(100_000)\nfor _ in '12': os.fork() or {become}; os.wait()"
    done = heap("--once", "--json", "--", sys.executable, "-S", "-c", script)
    *programs, everything = (json.loads(line) for line in done.stderr.splitlines())
    between = [one for one in programs if one["state"] == "replaced"]
    assert len(between) == 2 and all(one["live_bytes"] >= one["inherited_bytes"] > 100_000 for one in between)
    assert everything["at_end_bytes"] == sum(one["live_bytes"] for one in programs if one not in between)
    assert everything["live_bytes"] == 0, "nothing runs"
    assert everything["cumulative_bytes"] == sum(one["cumulative_bytes"] for one in programs)
    lines = heap("--once", "--", sys.executable, "-S", "-c", script).stderr.splitlines()
    assert len([line for line in lines if line.startswith("2 between fork and exec")]) == 1
    assert len([line for line in lines if line.startswith("execs")]) == 2


def test_what_goes_on_after_the_command_sets_no_pages_aside(compiled):
    """It can be followed as before, and leaves the page of its last program alone."""
    done = heap(
        "--once",
        "--",
        "sh",
        "-c",
        f"(sleep 0.5; exec {compiled('execs')} 3) & echo $!",
    )
    pid = int(done.stdout)
    while heap_page.is_alive(pid):
        time.sleep(0.02)
    left = list(Path("/dev/shm").glob(f"heapmeter.{pid}*"))
    counts = heap_page.OpenPage(pid).read().total
    for path in left:
        path.unlink()
    assert [path.name for path in left] == [f"heapmeter.{pid}"]
    assert (done.returncode, counts.cumulative_bytes) == (0, 500)


def test_no_page_is_left_behind(family, compiled):
    _, programs = followed("sh", "-c", f"{family}; {compiled('execs')} 3 & wait")
    left = {path.name.split(".")[1] for path in Path("/dev/shm").glob("heapmeter.*")}
    assert len(programs) > 9 and not left & {str(one["pid"]) for one in programs}
    listed = heap("--once", "--", "sh", "-c", "test -s $HEAPMETER_PROGRAMS && echo $HEAPMETER_PROGRAMS").stdout.strip()
    assert listed.startswith("/dev/shm/heapmeter-programs-") and not Path(listed).exists()


def test_a_page_that_is_missed_once_does_not_lose_those_of_its_children():
    """As while an exec sets it aside: who a process that has ended belonged to, only the page of its parent tells."""
    script = (
        "import os, time\n"
        "if not os.fork():\n"
        "    child = os.fork() or os._exit(0)\n"
        "    os.waitpid(child, 0)\n"
        "    print(os.getpid(), child, flush=True)\n"
        "time.sleep(60)"
    )
    variables = os.environ | {"LD_PRELOAD": str(METER)}
    with subprocess.Popen([sys.executable, "-c", script], env=variables, stdout=subprocess.PIPE) as root:
        parent, child = map(int, root.stdout.readline().split())
        tree, page = ProcessTree(root.pid), heap_page.page_path(parent)
        page.rename(page.with_name(f"missed.{parent}"))
        tree.poll()
        found = [{program.page.pid for program in tree.programs}]
        page.with_name(f"missed.{parent}").rename(page)
        tree.poll()
        found += [{program.page.pid for program in tree.programs}]
        os.kill(parent, signal.SIGKILL)
        root.kill()
    for pid in (root.pid, parent, child):
        heap_page.page_path(pid).unlink(missing_ok=True)
    assert found == [{root.pid}, {root.pid, parent, child}]


def test_pages_of_the_dead_are_their_living_parents_to_remove():
    script = "import os, time; os.fork() or os._exit(0); print(os.wait()[0], flush=True); time.sleep(60)"
    variables = os.environ | {"LD_PRELOAD": str(METER)}
    with subprocess.Popen([sys.executable, "-c", script], env=variables, stdout=subprocess.PIPE) as parent:
        child = int(parent.stdout.readline())
        mine = [Path(f"/dev/shm/heapmeter.{pid}") for pid in (parent.pid, child)]
        heap_page.remove_stale_pages()
        there = [page.exists() for page in mine]
        parent.kill()
    heap_page.remove_stale_pages()
    removed = [not page.exists() for page in mine]
    for page in mine:
        page.unlink(missing_ok=True)
    assert there == [True, True] and removed[1]


def test_a_page_that_nobody_has_read_yet_is_not_removed(tmp_path):
    """Its process and its parent have ended; the list of the command is there as long as tls-memtest heap is."""
    ended = subprocess.Popen(["true"])
    ended.wait()
    followed_list = tmp_path / "heapmeter-programs-abc"
    followed_list.touch()
    content = bytearray(heap_page.PAGE_BYTES)
    struct.pack_into("=QI", content, 0, heap_page.PAGE_MAGIC, ended.pid)
    struct.pack_into("=I", content, heap_page.PARENT_AT, ended.pid)
    struct.pack_into("=Q", content, heap_page.LIST_AT, followed_list.stat().st_ino)
    page = tmp_path / f"heapmeter.{ended.pid}"
    page.write_bytes(content)
    heap_page.remove_stale_pages(tmp_path)
    assert page.exists()
    followed_list.unlink()
    heap_page.remove_stale_pages(tmp_path)
    assert not page.exists()


def test_a_page_names_the_list_that_its_program_is_in():
    """At the end of what docs/reference/records.md says."""
    script = (
        "import os, struct; page = open(f'/dev/shm/heapmeter.{os.getpid()}', 'rb').read()\n"
        f"print(struct.unpack_from('=Q', page, {heap_page.LIST_AT})[0])\n"
        "print(os.stat(os.environ['HEAPMETER_PROGRAMS']).st_ino)"
    )
    named, listed = heap("--once", "--", sys.executable, "-S", "-c", script).stdout.split()
    assert named == listed


@pytest.mark.parametrize("name", [signal.SIGTERM, signal.SIGINT, signal.SIGUSR1])
def test_signals_are_passed_on_and_so_is_the_status(name):
    short = name.name.removeprefix("SIG")
    script = f"trap 'exit 9' {short}; echo ready; while :; do sleep 0.01; done"
    command = [*HEAP_RUN, "--once", "--", "sh", "-c", script]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True)
    try:
        assert process.stdout.readline() == b"ready\n"
        process.send_signal(name)
        assert process.wait(timeout=20) == 9
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.communicate()


def test_a_command_that_a_signal_ended_is_128_and_its_number():
    assert heap("--", "sh", "-c", "kill -KILL $$").returncode == 128 + signal.SIGKILL


def sentences(done):
    return [line.removeprefix("memtest: ") for line in done.stderr.splitlines() if line.startswith("memtest: ")]


STATIC = "was never under the heap meter: it is statically linked, and LD_PRELOAD is the dynamic loader's"
CLEARED = "was never under the heap meter: it was started without LD_PRELOAD in its environment (`env -i` does that)"
BY_SPAWN = "import os; os.waitpid(os.posix_spawn('{0}', ['x'], os.environ), 0)"
BY_FORK = "import os; os.fork() or os.execv('{0}', ['x']); os.wait()"
BY_VFORK = "import subprocess; subprocess.run(['{0}'])"


@pytest.mark.parametrize("script", [BY_SPAWN, BY_FORK, BY_VFORK], ids=["spawn", "fork", "vfork"])
def test_a_static_child_is_a_sentence(compiled, script):
    done = heap("--", sys.executable, "-S", "-c", script.format(compiled("static")))
    assert sentences(done) == [f"{compiled('static')} {STATIC}; the figures are without it"]
    assert done.returncode == 125


@pytest.mark.parametrize("script", [BY_SPAWN, BY_FORK, BY_VFORK], ids=["spawn", "fork", "vfork"])
def test_a_child_under_the_meter_is_none(compiled, script):
    done = heap("--", sys.executable, "-S", "-c", script.format(compiled("execs")))
    assert (done.returncode, sentences(done)) == (0, [])


def test_programs_that_run_without_the_meter_are_named_once_each(compiled):
    execs, static = compiled("execs"), compiled("static")
    script = f"cd {static.parent}; ./static; {execs}; env -i {execs}; ./static; env -i {execs}; /no/such; exec ./static"
    done = heap("--", "sh", "-c", script)
    said = [f"{static} (3 times) {STATIC}", f"{execs} (2 times) {CLEARED}"]
    assert sorted(sentences(done)) == sorted(f"{one}; the figures are without it" for one in said)
    assert done.returncode == 4, "of the command"


def test_a_command_with_another_environment_is_a_sentence(compiled):
    done = heap("--", "env", "-i", compiled("execs"))
    assert done.returncode == 125
    assert sentences(done) == [f"{compiled('execs')} {CLEARED}; the figures are without it"]


@pytest.mark.slow
def test_what_runs_on_without_the_meter_is_a_sentence(compiled):
    """A raw clone and exec, which no function of the C library sees."""
    script = (
        "import ctypes, os, time; libc = ctypes.CDLL(None)\n"
        "path, words = b'/bin/sleep', (ctypes.c_char_p * 3)(b'sleep', b'5')\n"
        "pid = os.fork() or libc.syscall(59, path, words, None)\n"
        "time.sleep(0.2); print(pid)"
    )
    done = heap("--", sys.executable, "-S", "-c", script)
    pid = int(done.stdout)
    os.kill(pid, signal.SIGKILL)
    assert done.returncode == 125 and not heap_page.page_path(pid).exists()
    assert sentences(done)[0].startswith(f"still running, and not under the heap meter: {pid} (")
    assert sentences(done)[0].endswith(" B of anonymous memory)")


def test_an_exec_that_fails_is_none():
    script = "import os\ntry: os.execv('/no/such', ['x'])\nexcept OSError: pass"
    done = heap("--", sys.executable, "-S", "-c", script)
    assert (done.returncode, sentences(done)) == (0, [])


OWN = "own_malloc has a malloc of its own, which the heap meter does not see: what it allocates is not counted"
BESIDES = "besides has an allocator besides malloc (mimalloc): what it allocates with that is not counted"


@pytest.mark.parametrize(("name", "sentence"), [("own_malloc", OWN), ("besides", BESIDES)])
def test_an_allocator_of_the_programs_own_is_a_sentence(compiled, name, sentence):
    for command in ([compiled(name)], ["sh", "-c", f"{compiled(name)}; {compiled(name)}"]):
        done = heap("--", *command)
        assert (done.returncode, sentences(done)) == (125, [sentence])


def test_a_program_that_takes_the_address_of_malloc_has_none_of_its_own(compiled):
    """As Debian's Python: the address is that of a stub in the program, which leads to the meter."""
    status, (program,) = followed(compiled("stub"))
    assert (status, program["live_bytes"], program["live_blocks"]) == (0, 5000, 1)
    assert sentences(heap("--", compiled("stub"))) == []


LIBRARY = """
#include <stdlib.h>
#include <string.h>
void *keep(int count)
{
    free(strdup("of libc's malloc, wherever that is"));
    void **last = NULL;
    for (int i = 0; i < count; i++) {
        void **block = malloc(500);
        *block = last;
        last = block;
    }
    return last;
}
"""
LOADER = """
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>
static void *volatile kept;
int main(int argc, char **argv)
{
    int deep = !strcmp(argv[1], "deepbind") ? RTLD_DEEPBIND : 0;
    void *library = !strcmp(argv[1], "namespace") ? dlmopen(LM_ID_NEWLM, "libkeep.so", RTLD_NOW)
                                                  : dlopen("libkeep.so", RTLD_NOW | deep);
    void *(*keep)(int) = library ? (void *(*)(int))dlsym(library, "keep") : NULL;
    if (!keep)
        return 9;
    kept = keep(atoi(argv[2]));
    return argc - 3;
}
"""
NAMESPACE = "loader loaded 1 library by dlmopen, with a malloc of their own: what they allocate is not counted"
DEEPBIND = (
    "loader loaded 1 library with RTLD_DEEPBIND, which the heap meter left out: it would not have counted what they "
    "allocate"
)


@pytest.fixture(scope="module")
def loader(folder):
    """A program that loads a library, which keeps blocks of 500 bytes. The RUNPATH of the program finds it."""
    for name, source in {"libkeep.c": LIBRARY, "loader.c": LOADER}.items():
        (folder / name).write_text(source)
    (folder / "lib").mkdir()
    shared = ["-shared", "-fPIC", folder / "libkeep.c", "-o", folder / "lib/libkeep.so"]
    program = [folder / "loader.c", "-o", folder / "loader", "-Wl,--enable-new-dtags,-rpath,$ORIGIN/lib"]
    for command in (shared, program):
        subprocess.run(["gcc", "-std=gnu11", "-O1", "-fno-builtin", *command], check=True)
    return folder / "loader"


@pytest.mark.parametrize(
    ("way", "status", "counted", "said"),
    [("plain", 0, 5000, []), ("deepbind", 0, 5000, [DEEPBIND]), ("namespace", 125, 0, [NAMESPACE])],
)
def test_what_a_loaded_library_keeps_is_counted_or_a_sentence(loader, way, status, counted, said):
    programs = []
    for blocks in (3, 13):
        done = heap("--once", "--json", "--", loader, way, blocks)
        assert (done.returncode, sentences(done)) == (status, said)
        programs += [json.loads(line) for line in done.stderr.splitlines() if '"program"' in line and line[0] == "{"]
    few, many = (one for one in programs if one["record"] == "program")
    assert many["live_bytes"] - few["live_bytes"] == counted
    assert many["live_blocks"] - few["live_blocks"] == counted // 500


def test_a_running_program_with_a_malloc_of_its_own_is_a_sentence(compiled):
    variables = os.environ | {"LD_PRELOAD": str(METER)}
    with subprocess.Popen([compiled("own_malloc"), "wait"], env=variables, stdin=subprocess.PIPE) as process:
        page = Path(f"/dev/shm/heapmeter.{process.pid}")
        while not page.exists() or not page.stat().st_size:
            time.sleep(0.01)
        done = heap("--once", process.pid)
        process.communicate()
    page.unlink()
    assert (done.returncode, sentences(done)) == (1, [OWN])


def test_a_static_program_is_told_of(folder):
    (folder / "static.c").write_text("int main(void) { return 4; }")
    subprocess.run(["gcc", "-static", folder / "static.c", "-o", folder / "static"], check=True)
    done = heap("--", folder / "static")
    assert done.returncode == 4 and done.stderr.count("\n") == 1
    assert "was never under the heap meter: it is statically linked" in done.stderr


@pytest.fixture
def metered():
    """A process under the meter that tls-memtest heap did not start, at rest."""
    script = "import threading, time; threading.Thread(target=time.sleep, args=(60,)).start(); print(flush=True)"
    variables = COUNTED | {"LD_PRELOAD": str(METER)}
    process = subprocess.Popen([sys.executable, "-c", script], env=variables, stdout=subprocess.PIPE)
    process.stdout.readline()
    time.sleep(0.1)  # until it sleeps; only its own counters would move
    yield process
    process.kill()
    process.communicate()
    Path(f"/dev/shm/heapmeter.{process.pid}").unlink(missing_ok=True)


def test_a_running_process_is_read_from_outside(metered):
    done = heap("--once", "--json", metered.pid)
    program, everything = map(json.loads, done.stdout.splitlines())
    assert (done.returncode, done.stderr, program["threads"]) == (0, "", 2)
    assert program["pid"] == metered.pid and program["live_bytes"] == everything["live_bytes"] > 0


@pytest.mark.thorough
def test_a_followed_process_may_end(metered):
    process = subprocess.Popen(
        [*HEAP_ATTACH, "--interval", "0.02", str(metered.pid)], stdout=subprocess.PIPE, text=True
    )
    assert f"[{metered.pid}]: live" in process.stdout.readline()
    metered.kill()
    metered.wait()
    assert "ended" in process.communicate(timeout=60)[0] and process.returncode == 0


BECOME = {
    "itself": "os.read(0, 1); os.execv('{0}', ['static'])",
    "by a child": "os.read(0, 1); child = os.posix_spawn('{0}', ['static'], os.environ); os.waitpid(child, 0)",
}


@pytest.mark.parametrize("way", BECOME)
def test_a_followed_process_that_goes_on_without_the_meter_is_a_sentence(folder, way):
    """What its page says is no longer live."""
    (folder / "sleeper.c").write_text("#include <unistd.h>\nint main(void) { return sleep(60); }")
    subprocess.run(["gcc", "-static", folder / "sleeper.c", "-o", folder / "sleeper"], check=True)
    script = "import os; print(flush=True); " + BECOME[way].format(folder / "sleeper")
    process = subprocess.Popen(
        [sys.executable, "-S", "-c", script],
        env=COUNTED | {"LD_PRELOAD": str(METER)},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    process.stdout.readline()
    process.stdin.write(b"x")
    process.stdin.flush()
    while not (unmetered := [pid for pid in (process.pid, *descendants(process.pid))
                             if os.readlink(f"/proc/{pid}/exe") == str(folder / "sleeper")]):  # fmt: skip
        time.sleep(0.01)
    done = heap("--once", "--json", process.pid)
    os.kill(unmetered[0], signal.SIGKILL)
    process.communicate()
    heap_page.page_path(process.pid).unlink(missing_ok=True)
    if way == "itself":
        one_sentence(done, f"{process.pid} cannot run under the heap meter: it is statically linked")
    else:
        assert sentences(done)[0].startswith(f"still running, and not under the heap meter: {unmetered[0]} (")
        assert done.returncode == 1


def test_a_process_that_becomes_a_program_without_the_meter_holds_nothing_of_its_page(folder):
    """As tls-memtest heap follows it: its page is that of the program before."""
    (folder / "sleeper.c").write_text("#include <unistd.h>\nint main(void) { return sleep(60); }")
    subprocess.run(["gcc", "-static", folder / "sleeper.c", "-o", folder / "sleeper"], check=True)
    script = f"import os; print(flush=True); os.read(0, 1); os.execv('{folder}/sleeper', ['sleeper'])"
    variables = COUNTED | {"LD_PRELOAD": str(METER)}
    words = [sys.executable, "-S", "-c", script]
    with subprocess.Popen(words, env=variables, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        process.stdout.readline()
        tree, held = ProcessTree(process.pid), []
        tree.poll()
        process.stdin.write(b"x")
        process.stdin.close()
        while not os.readlink(f"/proc/{process.pid}/exe").endswith("sleeper"):
            time.sleep(0.01)
        for _ in range(2):
            held.append(sorted(tree.current))
            tree.replace_unmetered()
        process.kill()
    heap_page.page_path(process.pid).unlink(missing_ok=True)
    assert held == [[process.pid], [process.pid]] and not tree.current
    assert [program.state for program in tree.programs] == ["replaced"]


def one_sentence(done, what, status=1):
    assert done.returncode == status and done.stderr.count("\n") == 1 and done.stdout == ""
    assert done.stderr.startswith("memtest: ") and what in done.stderr, done.stderr


def test_what_cannot_be_read_is_a_sentence(tmp_path):
    with subprocess.Popen(["sleep", "60"]) as other:
        page = Path(f"/dev/shm/heapmeter.{other.pid}")
        try:
            one_sentence(heap(other.pid), "was not started under the heap meter, and cannot be attached to later")
            page.write_bytes(b"x" * 4096)
            one_sentence(heap(other.pid), "was not started under the heap meter, and cannot be attached to later")
            page.unlink()
            page.symlink_to("/etc/passwd")
            one_sentence(heap(other.pid), "was not started under the heap meter, and cannot be attached to later")
        finally:
            page.unlink(missing_ok=True)
            other.kill()
    one_sentence(heap(other.pid), "there is no such process")
    one_sentence(heap("--", tmp_path / "nosuch"), "No such file or directory")
    other = tmp_path / "other"  # a program for SPARC, by its head
    other.write_bytes(struct.pack("<16sHH", b"\x7fELF\x02\x01\x01", 3, 2).ljust(64, b"\0"))
    other.chmod(0o755)
    one_sentence(heap("--", other), "Exec format error (it is a program for machine 2, and the meter is for x86-64)")
    one_sentence(heap("--out", tmp_path / "no/such", "--", "true"), "No such file or directory")


@pytest.mark.skipif(os.geteuid() != 0, reason="root alone can become another user")
def test_a_process_of_another_user_is_a_sentence(metered):
    script = (
        f"import os, sys; sys.path.insert(0, '{ROOT}/tools'); "
        "from tlsmem.cli.main import run; from tlsmem.monitor.process import attach_tree; "
        "os.setgroups([]); os.setgid(65534); os.setuid(65534); "
        f"run(lambda: attach_tree({metered.pid}))"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    one_sentence(done, f"{metered.pid}: it is another user's process; only that user and root may read its memory")


def test_a_page_that_was_damaged_is_a_sentence(metered):
    """By another process of the same user."""
    page = Path(f"/dev/shm/heapmeter.{metered.pid}")
    page.write_bytes(b"x" * 4096)
    one_sentence(heap(metered.pid), f"{page}: not a page of the heap meter")
    page.rename(page.with_name("moved"))
    page.symlink_to("/etc/passwd")
    one_sentence(heap(metered.pid), "was not started under the heap meter")
    page.with_name("moved").unlink()


def test_a_page_of_an_earlier_process_is_not_taken_for_this_ones(metered):
    content = Path(f"/dev/shm/heapmeter.{metered.pid}").read_bytes()
    with subprocess.Popen(["sleep", "60"]) as other:
        page = Path(f"/dev/shm/heapmeter.{other.pid}")
        try:
            page.write_bytes(content[:8] + other.pid.to_bytes(4, sys.byteorder) + content[12:])
            one_sentence(heap(other.pid), "was not started under the heap meter")
        finally:
            page.unlink(missing_ok=True)
            other.kill()
