"""The RSS meter and the allocators' books on stacks and allocators whose figures are known."""

import json
import subprocess
import sys

import pytest
from test_core import NONE, PHASES, ROOT, phases, run
from test_two_processes import CERTS

from tests.support import built_harness
from tlsmem.config.definitions import allocators
from tlsmem.run.preload import find_library

NULL = ROOT / "build/harness/null@c"
JEMALLOC_RUST = "rustls+aws-lc+jemalloc-rust@0.23.46"
MIB = 1024 * 1024

BOOKS = {
    "glibc": "arena hblkhd uordblks fordblks keepcost",
    "jemalloc": "allocated active metadata resident mapped retained",
    "tcmalloc": "current_allocated heap_size pageheap_free pageheap_unmapped thread_cache central_cache transfer_cache",
    "mimalloc": "committed peak_committed",
}
# What an allocator hands out for 40 + 1,000 + 3,032 bytes: by its size classes, or 16-byte steps with a header.
SESSION = {"glibc": 48 + 1008 + 3040, "jemalloc": 48 + 1024 + 3072, "tcmalloc": 48 + 1024 + 3072}
LIVE = {"glibc": ["uordblks", "hblkhd"], "jemalloc": ["allocated"], "tcmalloc": ["current_allocated"]}

BUMP = """
#include <string.h>
#include <sys/mman.h>
static char *at, *end;
void *malloc(size_t size)
{
    size_t taken = (size + 31) & ~15ul, more = taken > 1 << 24 ? taken : 1 << 24;
    if (!at || taken > (size_t)(end - at)) {
        at = mmap(0, more, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        end = at + more;
    }
    char *block = at + 16;
    at += taken;
    *(size_t *)(block - 16) = size;
    return block;
}
void free(void *block) { (void)block; }
void *calloc(size_t count, size_t size) { return malloc(count * size); }
void *realloc(void *block, size_t size)
{
    void *new = malloc(size);
    size_t old = block ? *(size_t *)((char *)block - 16) : 0;
    return block ? memcpy(new, block, old < size ? old : size) : new;
}
"""
FORWARDS = """
#include <stddef.h>
void *__libc_malloc(size_t);
void *malloc(size_t size) { return __libc_malloc(size); }
"""
REFUSES = """
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>
static int refused(const char *what)
{
    errno = EACCES;
    return !strcmp(getenv("REFUSE"), what);
}
int open(const char *path, int flags, ...) { return refused(path) ? -1 : syscall(SYS_openat, AT_FDCWD, path, flags); }
int personality(unsigned long persona) { return refused("personality") ? -1 : syscall(SYS_personality, persona); }
ssize_t pwrite(int fd, const void *bytes, size_t size, off_t at)
{
    return size == 1 && refused("write") ? -1 : syscall(SYS_pwrite64, fd, bytes, size, at);
}
"""
# Two huge pages, asked for and touched once the harness has set up its environment.
HUGE = """
#define _GNU_SOURCE
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>
int memfd_create(const char *name, unsigned flags)
{
    static char *pages;
    if (!pages) {
        pages = mmap(0, 6 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        madvise(pages, 6 << 20, MADV_HUGEPAGE);
        memset(pages, 1, 6 << 20);
    }
    return syscall(SYS_memfd_create, name, flags);
}
"""
# 64 MiB, touched and given back amid a phase.
BURST = """
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>
ssize_t pread(int fd, void *bytes, size_t size, off_t at)
{
    static int calls;
    if (++calls == 300) {
        void *pages = mmap(0, 64 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        memset(pages, 1, 64 << 20);
        munmap(pages, 64 << 20);
    }
    return syscall(SYS_pread64, fd, bytes, size, at);
}
"""
# A kernel whose counters lag: it says that 8 kB are resident, and that 4 were at the peak.
LAGS = """
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <errno.h>
static void say(char *status, const char *name, char kilobytes)
{
    char *line = strstr(status, name);
    for (char *c = line ? strchr(line, 0x20) : 0; c && *c != 'k'; c++)
        *c = c[2] == 'k' ? kilobytes : 0x20;
}
ssize_t pread(int fd, void *bytes, size_t size, off_t at)
{
    ssize_t got = syscall(SYS_pread64, fd, bytes, size, at);
    if (got > 0 && !memcmp(bytes, "Name:", 5)) {
        ((char *)bytes)[got] = 0;
        say(bytes, "VmHWM:", '4');
        say(bytes, "VmRSS:", '8');
    } else if (got > 0 && getenv("REFUSE") && strstr(bytes, "[rollup]")) {
        errno = EACCES;
        return -1;
    }
    return got;
}
"""
# A runner that holds so many MB prints the phases of a run.
RUNNER = """
import asyncio, json, sys
sys.path.insert(0, "tools")
from tlsmem.run import harness
held = bytearray(b"x") * (int(sys.argv[1]) * 10**6)
outcome = asyncio.run(harness.run(sys.argv[2:], {}, 60))
print(json.dumps([phase.model_dump() for phase in outcome.phases]))
"""


@pytest.fixture
def library(tmp_path):
    """Makes a library to preload of C source."""

    def compiled(source):
        made = tmp_path / "preloaded.so"
        command = ["gcc", "-shared", "-fPIC", "-fno-builtin", "-o", made, "-xc", "-"]
        subprocess.run(command, input=source, text=True, check=True)
        return str(made)

    return compiled


def preload(allocator):
    """The environment that puts an allocator before the system's."""
    if allocator == "glibc":
        return {}
    found = find_library(allocators()[allocator].library)
    return {"LD_PRELOAD": str(found)} if found else pytest.skip(f"no {allocator} on this system")


def measured(sessions, *arguments, harness=NULL, suite=NONE, **environment):
    """The run line, and the phases by name."""
    done = run(harness, "memory", f"sessions={sessions}", *suite, *arguments, **environment)
    assert done.returncode == 0, done.stderr
    first, *lines = map(json.loads, done.stdout.splitlines())
    assert lines[-1]["status"] == "measured"
    return first, {line["phase"]: line for line in lines[:-1]}


def live(phase, allocator):
    return sum(phase["allocator"][allocator][f"{figure}_bytes"] for figure in LIVE[allocator])


def test_an_rss_run_has_the_kernels_figures_and_the_books_of_glibc():
    first, rss = measured(20)
    assert list(rss) == PHASES and first["notes"] == []
    for phase in rss.values():
        assert 0 < phase["rollup_anon_bytes"] < phase["rollup_rss_bytes"] and phase["huge_bytes"] == 0
        assert phase["phase_minor_faults"] < phase["minor_faults"]
        assert phase["vm_data_bytes"] > phase["rss_anon_bytes"] > 0
        assert list(phase["allocator"]) == ["glibc"] and "heap" not in phase


def test_runs_about_other_figures_have_no_books():
    assert not any("allocator" in phase for phase in phases(NULL, 20, heap=True).values())
    assert not any("allocator" in phase for phase in measured(20, "marks=1")[1].values())


@pytest.mark.parametrize("allocator", BOOKS)
def test_an_allocator_tells_all_its_figures(allocator):
    for phase in measured(20, **preload(allocator))[1].values():
        assert list(phase["allocator"]) == [allocator]
        assert list(phase["allocator"][allocator]) == [f"{name}_bytes" for name in BOOKS[allocator].split()]


@pytest.mark.parametrize("allocator", SESSION)
def test_the_books_move_by_the_blocks_of_a_session(allocator):
    few, many = (measured(sessions, **preload(allocator))[1] for sessions in (200, 2000))
    for phase in PHASES[1:-3]:
        moved = live(many[phase], allocator) - live(few[phase], allocator)
        assert moved == 1800 * SESSION[allocator], phase


@pytest.mark.thorough
def test_mimalloc_has_committed_what_it_hands_out():
    few, many = (measured(sessions, **preload("mimalloc"))[1]["established"] for sessions in (200, 10000))
    moved = many["allocator"]["mimalloc"]["committed_bytes"] - few["allocator"]["mimalloc"]["committed_bytes"]
    assert abs(moved - 9800 * 4072) <= 32 * MIB  # it takes so much at a time


@pytest.mark.parametrize("allocator", SESSION)
def test_what_is_free_leaves_the_books(allocator):
    rss = measured(2000, **preload(allocator))[1]
    assert live(rss["trimmed"], allocator) - live(rss["contexts"], allocator) < 2 * SESSION[allocator]


@pytest.mark.thorough
def test_what_each_thread_holds_free_is_trimmed():
    """Of tcmalloc the books tell caches apart; those of jemalloc count them as handed out."""
    rss = measured(2000, "threads=4", **preload("tcmalloc"))[1]
    assert rss["closed"]["allocator"]["tcmalloc"]["thread_cache_bytes"] > 0
    assert rss["trimmed"]["allocator"]["tcmalloc"]["thread_cache_bytes"] == 0
    rss = measured(2000, "threads=4", **preload("jemalloc"))[1]
    assert live(rss["closed"], "jemalloc") > live(rss["trimmed"], "jemalloc") == live(rss["contexts"], "jemalloc")


def test_books_that_do_not_see_malloc_fail_the_run(library):
    done = run(NULL, "memory", "sessions=20", *NONE, LD_PRELOAD=library(BUMP))
    assert done.returncode == 1 and done.stdout == "" and done.stderr.count("\n") == 1
    assert "the books of glibc did not see an allocation of 1 MiB: malloc is that of" in done.stderr
    assert "preloaded.so" in done.stderr


def test_what_stands_before_glibc_and_forwards_keeps_its_books(library):
    assert list(measured(20, LD_PRELOAD=library(FORWARDS))[1]["closed"]["allocator"]) == ["glibc"]


def test_the_allocator_that_a_stack_brings_has_books_of_its_own():
    harness = built_harness.find(JEMALLOC_RUST)
    suite = ["protocol=TLSv1.3", "cipher=TLS_AES_256_GCM_SHA384", "group=X25519", f"certs={CERTS}"]
    few, many = (measured(sessions, harness=harness, suite=suite)[1] for sessions in (100, 300))
    for rss in few, many:
        assert list(rss["established"]["allocator"]) == ["glibc", "jemalloc-rust"]
        held = [rss[phase]["allocator"]["jemalloc-rust"]["allocated_bytes"] for phase in ("contexts", "trimmed")]
        assert held[0] == held[1]
    books = [rss["established"]["allocator"] for rss in (few, many)]
    rust, c = ([book[name] for book in books] for name in ("jemalloc-rust", "glibc"))
    assert rust[1]["allocated_bytes"] - rust[0]["allocated_bytes"] > 200 * 5000
    assert c[1]["uordblks_bytes"] - c[0]["uordblks_bytes"] > 200 * 500


def test_a_session_of_null_is_one_fault():
    few, many = (measured(sessions)[1]["sessions"]["phase_minor_faults"] for sessions in (200, 4200))
    assert abs(many - few - 4000) <= 1


def test_a_phase_in_which_nothing_happens_has_next_to_no_faults():
    assert measured(2000)[1]["server 2"]["phase_minor_faults"] <= 2


def test_vm_data_grows_by_a_page_a_session():
    few, many = (measured(sessions)[1]["established"]["vm_data_bytes"] for sessions in (200, 4200))
    assert abs(many - few - 4000 * 4096) <= 132 * 1024  # by which glibc's heap grows


def test_the_two_ways_to_read_rss_agree():
    for name, phase in measured(2000, "cpu=0")[1].items():
        assert phase["rollup_anon_bytes"] == pytest.approx(phase["rss_anon_bytes"], abs=MIB), name  # per-CPU counters


@pytest.mark.parametrize("refused, peak", [({}, "rollup_rss_bytes"), ({"REFUSE": "walk"}, "rss_bytes")])
def test_a_high_water_mark_that_lags_is_raised_to_what_is_resident(library, refused, peak):
    for phase in measured(200, LD_PRELOAD=library(LAGS), **refused)[1].values():
        assert phase["rss_bytes"] == 8 * 1024
        assert phase["peak_rss_bytes"] == phase[peak]


def test_a_burst_is_in_the_peak_of_its_phase_and_of_no_other(library):
    rss = measured(200, LD_PRELOAD=library(BURST))[1]
    *others, over = sorted(phase["peak_rss_bytes"] - phase["rss_bytes"] for phase in rss.values())
    assert over == pytest.approx(64 * MIB, abs=MIB)  # the kernel's high-water mark lags by some pages a CPU
    assert max(others) < MIB


def test_huge_pages_are_counted_and_off_unless_asked_for(library):
    first, as_host = measured(20, "thp=host", LD_PRELOAD=library(HUGE))
    if first["thp"] == "never":
        pytest.skip("huge pages are off on this machine")
    assert as_host["closed"]["huge_bytes"] >= 2 * 2 * MIB
    assert measured(20, LD_PRELOAD=library(HUGE))[1]["closed"]["huge_bytes"] == 0


REFUSED = {
    "/proc/self/smaps_rollup": "smaps_rollup cannot be read",
    "/proc/self/clear_refs": "clear_refs cannot be written",
    "write": "clear_refs cannot be written",
    "personality": "address randomisation could not be switched off",
}


@pytest.mark.parametrize("what", REFUSED)
def test_what_the_kernel_refuses_is_noted_and_the_rest_measured(library, what):
    first, rss = measured(20, LD_PRELOAD=library(REFUSES), REFUSE=what)
    assert len(first["notes"]) == 1 and first["notes"][0].startswith(REFUSED[what])
    assert first["aslr"] == ("on" if what == "personality" else "off")
    assert list(rss) == PHASES
    assert ("rollup_rss_bytes" in rss["closed"]) == (what != "/proc/self/smaps_rollup")


def test_randomisation_is_as_asked_for_whatever_the_parent_has():
    def says(*command):
        done = subprocess.run([*command, "memory", "sessions=2", *NONE, "aslr=on"], capture_output=True, text=True)
        return json.loads(done.stdout.splitlines()[0])["aslr"]

    assert says("setarch", "-R", NULL) == says(NULL)


@pytest.mark.thorough
def test_figures_do_not_depend_on_the_size_of_the_runner():
    def figures(megabytes):
        arguments = [sys.executable, "-c", RUNNER, str(megabytes), str(NULL), "memory", "sessions=2000", *NONE, "cpu=0"]
        done = subprocess.run(arguments, cwd=ROOT, capture_output=True, text=True, check=True)
        return json.loads(done.stdout)

    small, large = figures(0), figures(500)
    assert [phase["phase"] for phase in small] == PHASES
    for one, other in zip(small, large, strict=True):
        assert one["rss_anon_bytes"] == other["rss_anon_bytes"], one["phase"]
        for name in "rss_bytes", "peak_rss_bytes":  # what is mapped of files depends on the page cache
            assert other[name] == pytest.approx(one[name], abs=200 * 1024), (one["phase"], name)
