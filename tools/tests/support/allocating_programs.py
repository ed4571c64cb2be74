"""Small programs whose allocations are known, and profiles of them by the tools that people have."""

import importlib.util
import os
import shutil
import subprocess
from pathlib import Path

import pytest

# Temporary blocks come before those that are kept, so that the most is live at the end.
LIVE = """\
#include <stdlib.h>
#include <string.h>
static void *kept[3000];
__attribute__((noinline)) static void *small(int at) { return memset(malloc(33 + at % 7), 1, 33); }
__attribute__((noinline)) static void *large(int at) { return memset(calloc(1, 5000 + at), 1, 5000); }
__attribute__((noinline)) static void *grown(int at) { return realloc(malloc(100), 300 + at); }
__attribute__((noinline)) static void *last(void) { return memset(malloc(1), 1, 1); }
int main(void) {
    for (int at = 0; at < 1000; at++) {
        free(malloc(777));
        kept[at] = small(at);
        kept[1000 + at] = large(at);
        kept[2000 + at] = grown(at);
    }
    free(last());
    return kept[1] == 0;
}
"""
SITES = {
    "small": (sum(33 + at % 7 for at in range(1000)), 1000),
    "large": (sum(5000 + at for at in range(1000)), 1000),
    "grown": (sum(300 + at for at in range(1000)), 1000),
}
LIVE_BYTES = sum(size for size, _ in SITES.values())
SAMPLED = """\
#include <gperftools/malloc_extension.h>
#include <cstdio>
#include <cstdlib>
#include <string>
static void *kept[60000];
__attribute__((noinline)) static void *small() { return malloc(33); }
__attribute__((noinline)) static void *large(int at) { return malloc(5000 + at); }
int main(int, char **argv) {
    for (int at = 0; at < 60000; at++) kept[at] = at % 10 ? small() : large(at % 3000);
    std::string told;
    MallocExtension::instance()->GetHeapSample(&told);
    FILE *file = fopen(argv[1], "w");
    fwrite(told.data(), 1, told.size(), file);
    return fclose(file) || !kept[1];
}
"""
GO = """\
package main

import (
	"os"
	"runtime"
	"runtime/pprof"
)

var kept [][]byte

//go:noinline
func small() []byte { return make([]byte, 33) }

//go:noinline
func large(at int) []byte { return make([]byte, 5000+at) }

func main() {
	if os.Args[1] == "exact" {
		runtime.MemProfileRate = 1
	}
	for at := 0; at < 30000; at++ {
		kept = append(kept, small())
		if at%10 == 0 {
			kept = append(kept, large(at%3000))
		}
		_ = make([]byte, 100+at%1000)
	}
	runtime.GC()
	file, _ := os.Create(os.Args[2])
	pprof.Lookup("heap").WriteTo(file, int(os.Args[3][0]-'0'))
	file.Close()
	runtime.KeepAlive(kept)
}
"""

DHAT_MODES = """
#include <stdlib.h>
#include <string.h>
#include <valgrind/dhat.h>
char from[4000], *volatile to;
int main(void)
{
    to = malloc(4000);
    for (int bytes = 1; bytes < 4000; bytes += 100)
        memcpy(to, from, bytes);
    for (int units = 1; units < 5; units++)
        DHAT_AD_HOC_EVENT(units * 10);
    free(malloc(50));
    return 0;
}
"""


def find_library(name: str, package: str) -> Path:
    """Return the file of a library; the test is skipped where it is not installed."""
    known = subprocess.run(["/sbin/ldconfig", "-p"], capture_output=True, text=True, check=True).stdout
    for line in known.splitlines():
        if line.split()[0] == name:
            return Path(line.rpartition("=> ")[2])
    pytest.skip(f"{name} is not installed: apt install {package}")


def require_tool(name: str, package: str) -> str:
    """Return the name of a command; the test is skipped where it is not installed."""
    if not shutil.which(name):
        pytest.skip(f"{name} is not installed: apt install {package}")
    return name


def require_module(name: str, way: str) -> None:
    """Skip the test where a Python package is not installed."""
    if importlib.util.find_spec(name) is None:
        pytest.skip(f"{name} is not installed: {way}")


def compile_program(folder: Path, source: str, compiler: str = "gcc", *libraries: str) -> Path:
    """Return the program, with frame pointers and names."""
    suffix = ".cc" if compiler == "g++" else ".c"
    (folder / f"live{suffix}").write_text(source)
    flags = ["-g1", "-O1", "-fno-omit-frame-pointer", "-fno-builtin", "-o", "live", f"live{suffix}", *libraries]
    subprocess.run([compiler, *flags], cwd=folder, check=True)
    return folder / "live"


def take_gperftools(program: Path) -> Path:
    """Return the heap profile that tcmalloc writes when the program ends."""
    library = find_library("libtcmalloc.so.4", "libgoogle-perftools4")
    prefix = program.with_name("gperftools")
    run(program, LD_PRELOAD=str(library), HEAPPROFILE=str(prefix))
    return Path(f"{prefix}.0001.heap")


def take_jemalloc(program: Path, sample: int) -> Path:
    """Return the heap profile that jemalloc writes when the program ends; a sample each 2 to the power of `sample`."""
    library = find_library("libjemalloc.so.2", "libjemalloc2")
    options = f"prof:true,lg_prof_sample:{sample},prof_final:true,prof_accum:true,prof_prefix:{program.parent}/jemalloc"
    run(program, LD_PRELOAD=str(library), MALLOC_CONF=options)
    (file,) = program.parent.glob("jemalloc.*.heap")
    return file


def take_tcmalloc(folder: Path) -> Path:
    """Return the samples that a program here, built for it, asks gperftools' tcmalloc for."""
    find_library("libtcmalloc.so", "libgoogle-perftools-dev")
    require_tool("g++", "g++")
    program = compile_program(folder, SAMPLED, "g++", "-ltcmalloc")
    file = folder / "heap"
    subprocess.run([program, file], env={"TCMALLOC_SAMPLE_PARAMETER": "65536"}, check=True)
    return file


def build_go(folder: Path) -> Path:
    """Return the program GO; the test is skipped where Go is not installed."""
    require_tool("go", "golang")
    (folder / "main.go").write_text(GO)
    (folder / "go.mod").write_text("module app\ngo 1.20\n")
    subprocess.run(["go", "build", "-o", "app", "."], cwd=folder, check=True)
    return folder / "app"


def take_go(program: Path, file: Path, rate: str, text: bool = False) -> Path:
    """Write the heap profile of a Go program into a file; `rate` is `exact` or `sampled`."""
    subprocess.run([program, rate, file, str(int(text))], check=True)
    return file


def take_heaptrack(program: Path, *options: str) -> Path:
    """Return what heaptrack records of a program; it packs it by zstd, or by gzip where it has no zstd."""
    require_tool("heaptrack", "heaptrack")
    recorded = program.with_name("".join(["heaptrack", *options]))
    subprocess.run(["heaptrack", *options, "-o", recorded, program], check=True, capture_output=True, timeout=120)
    (file,) = recorded.parent.glob(f"{recorded.name}.*")
    return file


def take_valgrind(program: Path, tool: str, *options: str) -> tuple[Path, str]:
    """Return the file of massif or dhat, and what valgrind printed."""
    require_tool("valgrind", "valgrind")
    file = program.with_name("".join([tool, *options]))
    argv = ["valgrind", f"--tool={tool}", f"--{tool}-out-file={file}", *options, program]
    return file, subprocess.run(argv, check=True, capture_output=True, text=True, timeout=120).stderr


def run(program: Path, **environment: str) -> None:
    subprocess.run([program], env=os.environ | environment, check=True, capture_output=True)
