"""heapwalk on a program that holds known blocks: bytes by arithmetic, and as malloc counts them itself."""

import json
import os
import shutil
import struct
import subprocess
import tempfile
from array import array
from collections import Counter
from pathlib import Path

import pytest

from tlsmem.monitor.process import preload_value
from tlsmem.monitor.rss_parts import parse, read_rss
from tlsmem.monitor.tree import descendants

ROOT = Path(__file__).resolve().parents[2]
WALK = ROOT / "build/core/heapwalk"
STEPS = ("start", "blocks", "cached", "fast", "free", "mmapped", "unwritten", "thread", "zeros", "fork")
PAGE = 4096
MMAPPED = 1 << 15  # the mark of chunks with a mapping of their own
ADDRESS_BITS = 48  # of a chunk's place; its marks are above them
ADDRESS = (1 << ADDRESS_BITS) - 1
ONES = "0101010101010101"  # with which blocks are filled
MARKED = ",".join(
    [
        f"0:1000:3:{'f' * 16}:{ONES}:{ONES[:-1]}2",
        "3:1000:0:ff:0:2",
        "14:984:1:ff:1:2",
        "1:1000:0:ff:2:3",
        "2:968:0:ff:1:2",
        "2:1016:0:ff:1:2",
        f"7:{1 << 20}:2:ff:1:2",
        "5:640:0:ffff000000000000:2000000000000:2000000000001",  # of a block that looks like a thread's cache
    ]
)
# Directories with another glibc, of `debootstrap SUITE DIRECTORY` or of `dpkg -x libc6_*.deb DIRECTORY`.
GLIBCS = ["", *filter(None, os.environ.get("MEMTEST_GLIBC", "").split(":"))]


def chunk(size):
    """Bytes of the chunk in which glibc puts a block of this size."""
    return max(32, (size + 8 + 15) & ~15)


@pytest.fixture(scope="module")
def program(tmp_path_factory):
    path = tmp_path_factory.mktemp("holding") / "holding"
    source = ROOT / "memtest/tests/holding.c"
    command = ["gcc", "-std=gnu11", "-O1", "-fno-builtin", source, "-o", path, "-lpthread"]
    subprocess.run(command, check=True)
    return path


@pytest.fixture(scope="module", params=GLIBCS, ids=lambda root: Path(root).name or "system")
def command(request, program):
    """The program with the system's glibc, or with another one."""
    if not request.param:
        return [program]
    (loader,) = list(Path(request.param).glob("lib*/x86_64-linux-gnu/ld-linux-*.so.2"))[:1] or list(
        Path(request.param).glob("usr/lib/x86_64-linux-gnu/ld-linux-*.so.2")
    )
    return [loader, "--library-path", loader.parent, program]


def walk(pid):
    return json.loads(subprocess.run([WALK, str(pid)], capture_output=True, check=True).stdout)


def walk_chunks(pid, rules=""):
    """What heapwalk says of a process, and its chunks in use by address: bytes, those of them that are resident, and
    marks."""
    with tempfile.TemporaryFile() as file:
        words = [WALK, "--chunks", f"{file.fileno()}{rules}", str(pid)]
        done = subprocess.run(words, capture_output=True, check=True, pass_fds=[file.fileno()])
        file.seek(0)
        count, listed = struct.unpack("Q", file.read(8))[0], list(struct.iter_unpack("QII", file.read()))
    assert len(listed) == count
    return json.loads(done.stdout), {
        place & ADDRESS: (16 * units, 16 * resident_units, place >> ADDRESS_BITS)
        for place, units, resident_units in listed
    }


def present_pages(pid):
    """How many pages of writable mappings are present; the kernel's page of zeros counts wherever it is mapped."""
    present = 0
    with open(f"/proc/{pid}/pagemap", "rb", buffering=0) as pagemap:
        for line in Path(f"/proc/{pid}/maps").read_text().splitlines():
            places, rights = line.split()[:2]
            begin, end = (int(place, 16) // PAGE for place in places.split("-"))
            if rights[1] == "w":
                entries = array("Q", os.pread(pagemap.fileno(), 8 * (end - begin), 8 * begin))
                present += sum(entry >> 63 for entry in entries)
    return present


class Holding:
    """The program: what heapwalk says of it after each step, and what malloc says."""

    def __init__(self, command, **how):
        self.walks, self.counts, self.rss, self.mapped, self.chunks = {}, {}, {}, {}, {}
        self.marks = {}
        with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, **how) as process:
            for step in STEPS:
                process.stdin.write(f"{step}\n")
                process.stdin.flush()
                self.counts[step] = json.loads(process.stdout.readline())
                present = present_pages(process.pid)
                self.walks[step] = walk(process.pid)
                self.chunks[step] = walk_chunks(process.pid)
                self.marks[step] = walk_chunks(process.pid, f":{MARKED}")[1]
                self.rss[step] = read_rss([process.pid])[process.pid]
                self.mapped[step] = present_pages(process.pid) - present
            (self.child,) = descendants(process.pid)
            self.child_walk = walk(self.child)
            process.terminate()
            subprocess.run(["kill", str(self.child)], check=True)
        self.minor = int(self.walks["fork"]["glibc"].split(".")[1])
        self.has_fastbins = self.minor < 43
        self.bin_room = 7 if self.minor < 42 else 16  # chunks in a bin of a thread's cache
        self.own = (2200 if self.has_fastbins else 2112) + (48 if self.minor > 34 else 32)  # malloc_state and heap_info
        self.own += -self.own % 16

    def grown(self, step, part, unit="bytes"):
        """What a step added to a part."""
        before = self.walks[STEPS[STEPS.index(step) - 1]]
        return self.walks[step][part][unit] - before[part][unit]


@pytest.fixture(scope="module")
def holding(command):
    return Holding(command)


@pytest.fixture(scope="module")
def metered(command):
    return Holding(command, env={"LD_PRELOAD": preload_value()})


def total(line):
    """The parts of a process without the meter, added up."""
    chunks = sum(line[part]["resident_bytes"] for part in ("used", "cached", "free", "mmapped"))
    return chunks + sum(line[f"{part}_bytes"] for part in ("own", "stack", "file", "other"))


@pytest.mark.parametrize("step", STEPS)
def test_parts_add_up_to_what_is_resident(holding, metered, step):
    assert total(holding.walks[step]) == holding.walks[step]["rss_anon_bytes"]
    assert metered.rss[step].unexplained_bytes == 0


@pytest.mark.parametrize("step", STEPS)
def test_malloc_counts_the_same(holding, step):
    """Its count of what is in use has what threads' caches hold, and its own structures."""
    line, counts = holding.walks[step], holding.counts[step]
    fast = counts["fast"]
    arenas = (line["arenas"] - 1) * holding.own
    assert line["free"]["bytes"] == counts["free"] - fast
    assert line["used"]["bytes"] + line["cached"]["bytes"] - fast + arenas == counts["in_use"]
    assert (line["mmapped"]["bytes"], line["mmapped"]["chunks"]) == (counts["mmapped"], counts["mmapped_chunks"])


def join_stacks(line):
    """A line with stacks among the other memory: where the stack is of a thread that runs just then is not told."""
    return line | {"stack_bytes": 0, "other_bytes": line["stack_bytes"] + line["other_bytes"]}


@pytest.mark.parametrize("step", STEPS)
def test_the_chunks_listed_are_those_in_use(holding, step):
    line, chunks = holding.chunks[step]
    assert join_stacks(line) == join_stacks(holding.walks[step])
    assert {marks for *_, marks in chunks.values()} <= {0, MMAPPED}
    for part, mark in (("used", 0), ("mmapped", MMAPPED)):
        found = [sizes for *sizes, marks in chunks.values() if marks == mark]
        counts = [len(found), *map(sum, zip(*found, strict=True))] if found else [0, 0, 0]
        assert counts == [line[part][unit] for unit in ("chunks", "bytes", "resident_bytes")]


def test_chunks_are_marked_by_their_size_and_how_their_blocks_begin(holding, metered):
    """A chunk can be 16 bytes longer than it must be: the mark of blocks of 984 bytes is on those of 1,000 too."""
    marked = 1 << 0 | 1 << 3 | 1 << 14
    for steps in (holding.marks, metered.marks):
        counts = {step: Counter(marks for _, _, marks in chunks.values()) for step, chunks in steps.items()}
        assert [counts[step][marked] for step in ("start", "blocks", "cached")] == [0, 1000, 995]
        assert set(counts["blocks"]) == {0, marked, 1 << 5} and counts["blocks"][1 << 5] == 1
        assert [counts[step][MMAPPED | 1 << 7] for step in ("free", "mmapped")] == [0, 1]


NO_RULES = ["x", "1:1000", "15:1000:0:ff:1:2", "1:1000:4:ff:1:2", "1:7:0:ff:1:2", "1:9:1:ff:1:2"]


@pytest.mark.parametrize("rules", NO_RULES)
def test_rules_that_say_nothing_are_refused(rules):
    done = subprocess.run([WALK, "--chunks", f"1:{rules}", str(os.getpid())], capture_output=True, text=True)
    assert done.returncode == 2 and done.stderr.startswith("usage: ") and not done.stdout


def test_a_chunk_that_a_thread_caches_is_not_listed(holding):
    sizes = [[size for size, *_ in holding.chunks[step][1].values()] for step in ("start", "blocks", "cached")]
    start, blocks, cached = (of_step.count(chunk(1000)) for of_step in sizes)
    assert (blocks - start, cached - start) == (1000, 995)


def test_each_step_is_where_it_belongs(holding):
    grown = holding.grown
    assert (grown("blocks", "used"), grown("blocks", "used", "resident_bytes")) == (1000 * chunk(1000),) * 2
    assert (grown("cached", "cached"), grown("cached", "used")) == (5 * chunk(1000), -5 * chunk(1000))
    assert grown("fast", "cached") == (20 if holding.has_fastbins else holding.bin_room) * chunk(50)
    fast = 20 - holding.bin_room if holding.has_fastbins else 0  # the others are in the thread's cache
    assert holding.counts["fast"]["fast"] == fast * chunk(50)
    cached = (holding.bin_room - 5) * chunk(1000)  # it has 5
    assert grown("free", "cached") == cached
    assert grown("free", "free") == 450 * chunk(1000) - cached and grown("free", "used") == -450 * chunk(1000)
    assert grown("mmapped", "mmapped", "chunks") == 2
    assert grown("mmapped", "mmapped", "resident_bytes") == (1 << 20) + PAGE + PAGE  # of the second only its header
    assert grown("unwritten", "used") == 10 * chunk(100000)
    assert grown("unwritten", "used", "resident_bytes") <= 11 * 2 * PAGE
    assert grown("thread", "cached") == 3 * chunk(300)
    assert 500 * chunk(3000) <= grown("thread", "used") < 500 * chunk(3000) + 2 * PAGE
    assert holding.walks["thread"]["arenas"] == 2 and holding.walks["thread"]["own_bytes"] == holding.own


def test_a_page_that_was_only_read_is_not_resident(holding):
    assert holding.grown("zeros", "mmapped") == 101 * PAGE
    assert holding.grown("zeros", "mmapped", "resident_bytes") == PAGE


def test_reading_changes_nothing(holding):
    """heapwalk reads twice after each step: what it read first did not make pages resident, nor map any."""
    assert set(holding.mapped.values()) == {0}
    for step in STEPS:
        before, after = (
            vars(rss) | {"parts": join_mappings(rss.parts)} for rss in (parse(holding.walks[step]), holding.rss[step])
        )
        assert before == after


def join_mappings(parts):
    """Without the difference of stacks and other mappings: the stack of a thread that runs is not known as one."""
    rest = {name: size for name, size in parts.items() if name not in ("stacks", "other")}
    return rest | {"mappings": parts["stacks"] + parts["other"]}


def test_a_forked_child_has_what_its_parent_had_and_its_own(holding):
    """Its own blocks are in a second mapping of [heap]."""
    parent, child = holding.walks["fork"], holding.child_walk
    assert child["used"]["bytes"] == parent["used"]["bytes"] + 100 * chunk(9000)
    assert (child["cached"], child["mmapped"]) == (parent["cached"], parent["mmapped"])
    assert total(child) == child["rss_anon_bytes"]


FORKS = "import os; kept = [bytes(9000) for _ in range(1000)]; os.write(1, b'%d\\n' % os.fork()); os.read(0, 1)"


def private_pages(pid):
    """How many anonymous pages a process shares with no other one."""
    lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
    return sum(int(line.split()[1]) for line in lines if line.startswith("Private_Dirty:")) * 1024 // PAGE


def test_reading_leaves_pages_shared_after_a_fork():
    with subprocess.Popen(["python3", "-S", "-c", FORKS], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        child = max(int(process.stdout.readline()) for _ in range(2))  # the child prints 0
        before = private_pages(process.pid)
        assert walk(process.pid)["used"]["resident_bytes"] > 9_000_000
        assert walk(child)["used"]["resident_bytes"] > 9_000_000
        assert private_pages(process.pid) - before < 100
        process.stdin.write(b"\n\n")


def test_under_the_meter_live_is_what_was_requested(metered):
    bytes_of = {step: line["requested"]["bytes"] for step, line in metered.walks.items()}
    mapped = {step: line["mmapped_requested"]["bytes"] for step, line in metered.walks.items()}
    assert bytes_of["blocks"] - bytes_of["start"] == 1000 * 1000
    assert bytes_of["cached"] - bytes_of["blocks"] == -5 * 1000
    assert bytes_of["fast"] == bytes_of["cached"]
    assert bytes_of["free"] - bytes_of["fast"] == -450 * 1000
    assert (bytes_of["mmapped"], mapped["mmapped"]) == (bytes_of["free"], (1 << 20) + 300000)
    assert bytes_of["unwritten"] - bytes_of["mmapped"] == 10 * 100000
    rss = metered.rss["unwritten"]
    assert 10 * 100000 + 300000 - 30 * PAGE < rss.absent_bytes <= 10 * 100000 + 300000


SHORT = {  # programs that write "x" and wait
    "plain": "memset(malloc(50000), 1, 50000);",
    "brk": "memset(malloc(50000), 1, 50000); memset(sbrk(5000), 1, 5000); memset(malloc(200000), 1, 200000);"
    " for (int i = 0; i < 100; i++) memset(malloc(5000), 1, 5000);",
    "none": "",
    # In place of a chunk with a mapping of its own, one of 64 GiB: no machine need have so much for malloc.
    "huge": "volatile size_t *small = malloc(200000); small[-1] = 0;"
    " size_t *huge = mmap(0, 64ul << 30, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);"
    " huge[1] = 64ul << 30 | 2;",
}
SHORT_SOURCE = """
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
int main(void) {{ {} write(1, "x", 1); alarm(60); pause(); }}
"""
TINY = ".globl _start\n_start: movl $4,%eax; movl $1,%ebx; movl $start,%ecx; movl $1,%edx; int $0x80\n"
TINY += "loop: movl $29,%eax; int $0x80; jmp loop\nstart: .byte 120\n"  # write and pause of 32 bits


@pytest.fixture(scope="module")
def compile_short(tmp_path_factory):
    """A function that returns the path of a program of SHORT, or of TINY, compiled with these flags."""
    folder = tmp_path_factory.mktemp("short")

    def compile_program(name, *flags, compiler="gcc"):
        program, source = folder / f"{name}-{compiler}{len(flags)}", folder / f"{name}.{'S' if name == 'tiny' else 'c'}"
        source.write_text(TINY if name == "tiny" else SHORT_SOURCE.format(SHORT[name]))
        subprocess.run([compiler, "-O1", "-fno-builtin", *flags, source, "-o", program], check=True)
        return program

    return compile_program


def waiting(program, **how):
    """What heapwalk says of a program that waits."""
    with subprocess.Popen([program], stdout=subprocess.PIPE, **how) as process:
        try:
            assert process.stdout.read(1) == b"x"
            line = walk(process.pid)
        finally:
            process.kill()
    return line


@pytest.mark.parametrize(
    "name, flags, why",
    [
        ("plain", ["-static"], "it is statically linked"),
        ("tiny", ["-m32", "-nostdlib", "-static"], "it is a 32-bit program"),
        ("brk", [], "it moves the end of the brk area itself too, between malloc's chunks"),
        ("none", [], "it has not used glibc's malloc"),
    ],
)
def test_what_cannot_be_divided_is_a_sentence_beside_its_mappings(compile_short, name, flags, why):
    line = waiting(compile_short(name, *flags))
    assert line["undivided"] == why and "used" not in line
    assert sum(line[f"{part}_bytes"] for part in ("heap", "stack", "file", "other")) == line["rss_anon_bytes"]


def test_a_block_of_64_gib_is_a_refusal_of_its_process_alone(compile_short):
    """Chunks are listed in 16 bytes, which have no room for its size. Without a list it counts as any other."""
    programs = [compile_short("huge"), compile_short("plain")]
    with (
        tempfile.TemporaryFile() as file,
        subprocess.Popen([programs[0]], stdout=subprocess.PIPE) as huge,
        subprocess.Popen([programs[1]], stdout=subprocess.PIPE) as plain,
    ):
        try:
            assert huge.stdout.read(1) == plain.stdout.read(1) == b"x"
            words = [WALK, "--chunks", str(file.fileno()), str(huge.pid), str(plain.pid)]
            done = subprocess.run(words, capture_output=True, check=True, pass_fds=[file.fileno()])
            counted = walk(huge.pid)
        finally:
            huge.kill()
            plain.kill()
    first, second = map(json.loads, done.stdout.splitlines())
    assert first == {"pid": huge.pid, "refused": "one of its blocks has 64 GiB or more"}
    assert "refused" not in second and second["used"]["chunks"]
    assert counted["mmapped"] == {"chunks": 1, "bytes": 64 << 30, "resident_bytes": PAGE}


@pytest.mark.skipif(not shutil.which("musl-gcc"), reason="needs musl-tools")
def test_a_program_of_another_c_library_is_a_sentence(compile_short):
    line = waiting(compile_short("plain", compiler="musl-gcc"))
    assert line["undivided"] == "its C library is musl, not glibc"


def test_a_directory_named_musl_is_no_c_library(compile_short, tmp_path):
    program = tmp_path / "musl" / "static"
    program.parent.mkdir()
    shutil.copy(compile_short("plain", "-static"), program)
    assert waiting(program)["undivided"] == "it is statically linked"


@pytest.mark.parametrize("name", ["libjemalloc.so.2", "libmimalloc.so.2", "libtcmalloc_minimal.so.4"])
def test_another_allocator_is_named(compile_short, name):
    known = subprocess.run(["/sbin/ldconfig", "-p"], capture_output=True, text=True, check=True).stdout
    if name not in known:
        pytest.skip(f"needs {name}")
    line = waiting(compile_short("plain"), env={"LD_PRELOAD": name})
    assert line["undivided"] == f"its allocator is {name[3:].split('.')[0].split('_')[0]}"


def test_a_process_that_is_gone_and_one_of_another_user_are_a_sentence(compile_short, tmp_path):
    ended = subprocess.Popen(["true"])
    ended.wait()
    assert walk(ended.pid) == {"pid": ended.pid, "refused": "it has ended, or is the kernel's"}
    if os.getuid():
        pytest.skip("needs root")
    with subprocess.Popen([compile_short("plain")], stdout=subprocess.PIPE) as process:
        process.stdout.read(1)
        command = ["setpriv", "--reuid=65534", "--clear-groups", "/proc/self/fd/0", str(process.pid)]
        with open(WALK, "rb") as program:
            done = subprocess.run(command, stdin=program, capture_output=True, check=True)
        process.kill()
    assert json.loads(done.stdout)["refused"] == "only its user and root may read its memory"


@pytest.mark.thorough
def test_an_arena_of_several_heaps_is_walked_to_its_end(tmp_path):
    """Of 64 MiB each: a thread writes 30,000 blocks of 5,000 B and frees every third."""
    source, program = tmp_path / "arena.c", tmp_path / "arena"
    source.write_text(ARENA)
    subprocess.run(["gcc", "-O1", "-fno-builtin", source, "-o", program, "-lpthread"], check=True)
    line = waiting(program)
    assert (line["arenas"], line["exact"], total(line)) == (2, True, line["rss_anon_bytes"])
    assert 20_000 * chunk(5000) <= line["used"]["bytes"] < 20_000 * chunk(5000) + 16 * PAGE
    assert line["free_sizes"][str(chunk(5000))] >= 9_990


@pytest.mark.thorough
def test_a_program_that_allocates_all_the_time_is_divided(tmp_path):
    """Twenty times, while three threads do nothing else; what adds up was read at one moment."""
    source, program = tmp_path / "busy.c", tmp_path / "busy"
    source.write_text(BUSY)
    subprocess.run(["gcc", "-O1", "-fno-builtin", source, "-o", program, "-lpthread"], check=True)
    with subprocess.Popen([program], stdout=subprocess.PIPE) as process:
        process.stdout.read(1)
        lines = [walk(process.pid) for _ in range(20)]
        process.kill()
    divided = [line for line in lines if "undivided" not in line]
    assert len(divided) > 10
    assert all(abs(total(line) - line["rss_anon_bytes"]) < 0.05 * line["rss_anon_bytes"] for line in divided)


BUSY = """
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
static void *work(void *number)
{
    unsigned seed = (unsigned long)number;
    void *blocks[2000] = {0};
    for (;;) {
        seed = seed * 1103515245 + 12345;
        void **block = &blocks[(seed >> 8) % 2000];
        free(*block);
        *block = memset(malloc((seed >> 16) % 3000 + 1), 1, 1);
        if ((seed >> 5) % 50 == 0)
            usleep(100);
    }
    return number;
}
int main(void)
{
    pthread_t threads[3];
    alarm(60);
    for (long i = 0; i < 3; i++)
        pthread_create(&threads[i], NULL, work, (void *)i);
    usleep(300000);
    write(1, "x", 1);
    pause();
}
"""
ARENA = """
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
static char *blocks[30000];
static void *work(void *nothing)
{
    for (int i = 0; i < 30000; i++)
        memset(blocks[i] = malloc(5000), 1, 5000);
    for (int i = 0; i < 30000; i += 3)
        free(blocks[i]);
    write(1, "x", 1);
    pause();
    return nothing;
}
int main(void)
{
    pthread_t thread;
    alarm(60);
    pthread_create(&thread, NULL, work, NULL);
    pause();
}
"""
