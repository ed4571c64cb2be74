"""Files as people have them: each form with the traits of the files that were tried, and what is no heap profile.

All are written here by hand, to the documentation of the form. Those called `as in` have the traits of a sample file
that the form's own project publishes."""

import bz2
import gzip
import io
import json
import lzma
import zipfile

from backports import zstd

from tlsmem.profile.pprof_message import Function, Label, Line, Location, Mapping, Message, Sample, ValueType, encode

# heaptrack: format 3 has the length of each string in bytes.
HEAPTRACK = """\
v 10400 3
X ./app --port 1
I 1000 5e298d
s 3 app
s 4 main
s 7 SSL_new
s 6 main.c
i 100 1 2 4 7
i 200 1 3 4 9
t 1 0
t 2 1
a 10 1
a 20 2
+ 0
+ 1
+ 1
- 1
c 5dc
# strings: 4
# ips: 2
"""
RAW = """\
v 10400 3
x 8 /bin/app
X /bin/app
I 1000 10
m 1 x 400000 0 1000 2000 1000
t 400100 0
+ 10 1 aaa0
+ 20 1 bbb0
- aaa0
c 5dc
"""
MASSIF_HEAD = "desc: (none)\ncmd: ./app\ntime_unit: i\n"
PLACE = "0x10: main (main.c:1)"


def massif_snapshot(
    number: int, heap: int, kind: str = "empty", extra: int = 0, stacks: int = 0, place: str = PLACE
) -> str:
    root = "(heap allocation functions) malloc/new/new[], --alloc-fns, etc."
    tree = f"n1: {heap} {root}\n n0: {heap} {place}\n" if kind != "empty" else ""
    return (
        f"#-----------\nsnapshot={number}\n#-----------\ntime={number}\nmem_heap_B={heap}\n"
        f"mem_heap_extra_B={extra}\nmem_stacks_B={stacks}\nheap_tree={kind}\n{tree}"
    )


def massif(*snapshots: str, description: str = "(none)", unit: str = "i") -> bytes:
    return (
        MASSIF_HEAD.replace("(none)", description).replace("unit: i", f"unit: {unit}") + "".join(snapshots)
    ).encode()


MASSIF = massif(massif_snapshot(0, 0), massif_snapshot(1, 900, "detailed", 8), massif_snapshot(2, 1000, "peak", 8))
# As valgrind's tests have it: the options in `desc`, frames below main, and most snapshots without call stacks.
MASSIF_TESTS = massif(
    *(massif_snapshot(number, 36 * number) for number in range(9)),
    massif_snapshot(9, 36 * 9, "detailed", 60, place="0x8048404: a1 (deep.c:10)"),
    massif_snapshot(10, 400, "peak", 80, place="0x80484CA: (below main)"),
    massif_snapshot(11, 0),
    description="--stacks=no --time-unit=B --depth=8 --massif-out-file=massif.out --ignore-fn=__part_load_locale",
    unit="B",
)
DHAT_BASE = {"dhatFileVersion": 2, "mode": "heap", "verb": "Allocated", "bklt": True, "bkacc": True, "tu": "instrs"}
DHAT_BASE |= {"Mtu": "Minstr", "tuth": 500, "cmd": "./app", "pid": 1, "te": 9, "tg": 5}
DHAT_FRAMES = ["[root]", "0x10: malloc (in /usr/lib/vgpreload_dhat.so)", "0x20: main (main.c:7)"]
POINT = {"tb": 100, "tbk": 2, "tl": 9, "mb": 100, "mbk": 2, "gb": 100, "gbk": 2, "eb": 40, "ebk": 1, "rb": 0, "wb": 0}
WITHOUT_LIFETIMES = {key: POINT[key] for key in ("tb", "tbk")}


def dhat(point: dict[str, object] = POINT, frames: list[str] = DHAT_FRAMES, **keys: object) -> bytes:
    return json.dumps(DHAT_BASE | {"pps": [point | {"fs": [*range(1, len(frames))]}], "ftbl": frames} | keys).encode()


def dhat_totals(mode: str, verb: str, unit: str) -> bytes:
    units = {"bu": unit, "bsu": f"{unit}s", "bksu": "events" if unit == "unit" else "blocks"}
    return dhat(WITHOUT_LIFETIMES, mode=mode, verb=verb, bklt=False, bkacc=False, **units)


def zipped(**members: bytes) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members.items():
            archive.writestr(f"{name}.json", content)
    return file.getvalue()


BYTES, COUNT = "bytes", "count"
GO_TYPES = tuple(
    ValueType(*one)
    for one in (("alloc_objects", COUNT), ("alloc_space", BYTES), ("inuse_objects", COUNT), ("inuse_space", BYTES))
)
GO = Message(
    GO_TYPES,
    (
        Sample((1, 2), (9, 900, 3, 300), (Label("bytes", number=100),)),
        Sample((2,), (1, 48, 1, 48), (Label("bytes", number=48),)),
    ),
    (Mapping(1, 0x400000, 0x500000, 0, "/srv/app", has_functions=True),),
    (Location(1, 1, 0x400010, (Line(1, 7),)), Location(2, 1, 0x400020, (Line(2, 9),))),
    (Function(1, "crypto/tls.(*Conn).handshakeContext", file="conn.go"), Function(2, "runtime.main", file="proc.go")),
    period_type=ValueType("space", BYTES),
    period=524_288,
    default_sample_type="inuse_space",
)
TCMALLOC = GO._replace(
    sample_types=(ValueType("objects", COUNT), ValueType("space", BYTES)),
    samples=(Sample((2,), (4, 192), (Label("bytes", number=48), Label("request", number=33))),),
    default_sample_type="space",
)
MAP = """\

MAPPED_LIBRARIES:
00400000-00401000 r--p 00000000 fe:00 1 /none/my app
00401000-00402000 r-xp 00001000 fe:00 1 /none/my app (deleted)
00403000-00404000 rw-p 00000000 00:00 0
7f0000000000-7f0000001000 r-xp 00005000 fe:00 2 /none/libjemalloc.so.2
"""
GPERFTOOLS = (
    """\
heap profile:      3:      130 [     5:      330] @ heapprofile
     2:      100 [     4:      300] @ 0x00401011 0x00401021
     1:       30 [     1:       30] @ 0x00401011 0x0040b021
"""
    + MAP
)
JEMALLOC = (
    """\
heap_v2/1
  t*: 3: 144 [0: 0]
  t1: 3: 144 [0: 0] a thread
@ 0x7f0000000011 0x401011 0x401021
  t*: 2: 96 [0: 0]
  t0: 1: 48 [0: 0]
  t1: 1: 48 [0: 0]
@ 0x7f0000000011 0x401011
  t*: 1: 48 [0: 0]
  t1: 1: 48 [0: 0]
"""
    + MAP
)
CPPBENCH = """\
heap profile:      2:   131072 [     2:   131072] @ heap_v2/524288
     1:    65536 [     1:    65536] @ 0x00401011 0x00401021
     1:    65536 [     1:    65536] @ 0x00401011
"""
GOBENCH = """\
heap profile: 2: 96 [9: 900] @ heap/1048576
1: 48 [8: 852] @ 0x40b83b 0x40c1bb 0x42ab43
#\t0x40b83b\tmain.keep+0x3b\t/src/bench/main.go:12
#\t0x40c1bb\tmain.main+0x1b\t/src/bench/main.go:20
#\t0x42ab43\truntime.main+0x203\t/go/src/runtime/proc.go:271

1: 48 [1: 48] @ 0x40b83b
#\t0x40b83b\tmain.keep+0x3b\t/src/bench/main.go:12

# runtime.MemStats
# Alloc = 655352
"""

KINDS = {
    "heaptrack": HEAPTRACK.encode(),
    "heaptrack, zstd": zstd.compress(HEAPTRACK.encode()),
    "heaptrack, gzip": gzip.compress(HEAPTRACK.encode()),
    "heaptrack, bzip2": bz2.compress(HEAPTRACK.encode()),
    "heaptrack, cut off": HEAPTRACK.partition("- 1")[0].encode(),
    "heaptrack, zstd cut off": zstd.compress(HEAPTRACK.encode())[:-9],
    "heaptrack, raw": RAW.encode(),
    "heaptrack, as in its tests: format 2 without lengths of strings": HEAPTRACK.replace(" 3\n", " 2\n", 1)
    .replace("s 3 ", "s ")
    .replace("s 4 ", "s ")
    .replace("s 7 ", "s ")
    .replace("s 6 ", "s ")
    .encode(),
    "heaptrack, stripped program": HEAPTRACK.replace("i 100 1 2 4 7", "i 100 1")
    .replace("i 200 1 3 4 9", "i 200 1")
    .encode(),
    "heaptrack, spaces and escapes in names": HEAPTRACK.replace("s 4 main", "s f op\x1b[31m new(x)").encode(),
    "heaptrack, a name that is not UTF-8": HEAPTRACK.encode().replace(b"s 4 main", b"s 4 m\xff\xfen"),
    "heaptrack, C++": HEAPTRACK.replace("s 7 SSL_new", "s 10 std::vector<int>").encode(),
    "heaptrack, nothing recorded": b"\n# strings: 0\n# ips: 0\n",
    "heaptrack, a newer format": HEAPTRACK.replace(" 3\n", " 4\n", 1).encode(),
    "heaptrack, a huge block": HEAPTRACK.replace("a 20 2", "a ffffffffffff 2").encode(),
    "massif": MASSIF,
    "massif, default options: a peak without call stacks": massif(
        massif_snapshot(0, 1000, "peak"), massif_snapshot(1, 1009), massif_snapshot(2, 10, "detailed")
    ),
    "massif, --stacks=yes": massif(
        massif_snapshot(0, 900, "peak", 16, 500), massif_snapshot(1, 1000, "detailed", 16, 100)
    ),
    "massif, --pages-as-heap=yes": massif(massif_snapshot(0, 4096, "peak"), description="--pages-as-heap=yes"),
    "massif, no call stacks": massif(massif_snapshot(0, 0), massif_snapshot(1, 1000), massif_snapshot(2, 30)),
    "massif, one snapshot by request": massif(massif_snapshot(0, 1000, "detailed")),
    "massif, as in valgrind's tests": MASSIF_TESTS,
    "massif, --time-unit=ms": massif(massif_snapshot(1500, 1000, "peak"), unit="ms"),
    "massif, stripped library": massif(
        massif_snapshot(0, 100, "peak", place="0x4846720: ??? (in /usr/lib/libssl.so.3)")
    ),
    "massif, below the threshold": massif(
        massif_snapshot(0, 100, "peak", place="in 2 places, all below massif's threshold (1.00%)")
    ),
    "massif, cut off": MASSIF[:-30],
    "massif, cut off in its head": MASSIF[:20],
    "massif, xz": lzma.compress(MASSIF),
    "massif, xz cut off": lzma.compress(MASSIF)[:-20],
    "massif, bzip2": bz2.compress(MASSIF),
    "massif, a command with spaces and escapes": MASSIF.replace(b"./app", "./my app\x1b]0;x\x07 'ü'".encode()),
    "massif, a huge number": massif(massif_snapshot(0, 18446744073709551615, "peak")),
    "massif, no bytes": massif(massif_snapshot(0, 0)),
    "DHAT": dhat(),
    "DHAT, gzip": gzip.compress(dhat()),
    "DHAT, as in valgrind's tests: --mode=copy": dhat_totals("copy", "Copied", "byte"),
    "DHAT, as in valgrind's tests: --mode=ad-hoc": dhat_totals("ad-hoc", "Occurred", "unit"),
    "DHAT, by the crate dhat": dhat(
        frames=["[root]", "0x10: <dhat::Alloc as GlobalAlloc>::alloc (dhat/src/lib.rs:1247:9)", "0x20: ??? (???:0:0)"],
        mode="rust-heap",
    ),
    "DHAT, without lifetimes": dhat_totals("rust-heap", "Allocated", "byte"),
    "DHAT, a zip by phase": zipped(contexts=dhat(), sessions=dhat(POINT | {"eb": 90, "ebk": 2})),
    "DHAT, cut off": dhat()[:-30],
    "DHAT, a newer version": dhat(dhatFileVersion=3),
    "DHAT, no points": dhat(pps=[]),
    "DHAT, a huge number": dhat(POINT | {"eb": 1 << 63}),
    "DHAT, escapes in names": dhat(frames=[DHAT_FRAMES[0], "0x10: ev\x1b[2Jil (a\nb.c:7)"]),
    "pprof of Go": encode(GO),
    "pprof of Go, gzip": gzip.compress(encode(GO)),
    "pprof of Go, every allocation": encode(GO._replace(period=1)),
    "pprof of Go, no live memory": encode(
        GO._replace(sample_types=(ValueType("samples", COUNT),) * 2 + (ValueType("cpu", "nanoseconds"),) * 2)
    ),
    "pprof of Go, goroutines": encode(
        GO._replace(sample_types=(ValueType("goroutine", COUNT),), samples=(Sample((1,), (3,)),))
    ),
    "pprof, a difference": encode(GO._replace(samples=(Sample((1,), (0, 0, -1, -48)),))),
    "pprof, cut off": encode(GO)[:-40],
    "pprof, gzip cut off": gzip.compress(encode(GO))[:-12],
    "pprof, escapes in names": encode(GO._replace(functions=(Function(1, "a\x1b[31m\nb"), GO.functions[1]))),
    "pprof of tcmalloc": encode(TCMALLOC),
    "Go's text, as in google/pprof's gobench": GOBENCH.encode(),
    "tcmalloc's text, as in google/pprof's cppbench": (CPPBENCH + MAP).encode(),
    "gperftools": GPERFTOOLS.encode(),
    "gperftools, lines that end as on Windows": GPERFTOOLS.replace("\n", "\r\n").encode(),
    "gperftools, cut off": GPERFTOOLS.partition("     1:")[0].encode(),
    "gperftools, growth": GPERFTOOLS.replace("heapprofile", "growthz").encode(),
    "gperftools, a huge number": GPERFTOOLS.replace(" 100 [", f" {1 << 63} [").encode(),
    "jemalloc": JEMALLOC.encode(),
    "jemalloc, as in its tests: sampled, by thread": JEMALLOC.replace("heap_v2/1\n", "heap_v2/524288\n").encode(),
    "jemalloc, its map cut off": JEMALLOC.partition("\nMAPPED")[0].encode(),
    "jemalloc, nothing sampled": ("heap_v2/524288\n  t*: 0: 0 [0: 0]\n" + MAP).encode(),
    "an empty file": b"",
    "CSV": b"function,bytes\nmain,100\n",
    "perf": b"PERFILE2" + bytes(96),
    "a heap dump of Java": b"JAVA PROFILE 1.0.2\x00\x00\x00\x00\x08" + bytes(20),
    "a heap snapshot of V8": b'{"snapshot":{"meta":{"node_fields":["type","name"]}},"nodes":[]}',
    "XML of memcheck": b"<?xml version='1.0'?>\n<valgrindoutput></valgrindoutput>\n",
    "a leak report of AddressSanitizer": b"==1==ERROR: LeakSanitizer: detected memory leaks\n",
    "callgrind": b"# callgrind format\nversion: 1\n",
    "a core": b"\x7fELF\x02\x01\x01" + bytes(57),
}
