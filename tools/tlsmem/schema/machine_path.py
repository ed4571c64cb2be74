"""What of a machine decides which code a run executes: its path, which names the machine. Standard library only.

Two machines of one CPU name may differ here, and then RSS differs too: libraries and the C library choose their
functions by these features."""

import ctypes
import hashlib
import json
import mmap
import os
import platform
import re
import struct
from collections.abc import Collection, Mapping
from pathlib import Path

CPUINFO, MAPS = Path("/proc/cpuinfo"), Path("/proc/self/maps")
FLAG_NAMES = """
ssse3 sse4_1 avx avx2 bmi1 bmi2 adx aes pclmulqdq sha_ni movbe rdrand rdseed vaes vpclmulqdq gfni
avx512f avx512dq avx512bw avx512vl avx512ifma avx512vbmi avx512_vbmi2 avx512_vnni avx512_bitalg avx512_vpopcntdq
avx_ifma sha512
"""
FLAGS = tuple(FLAG_NAMES.split())  # by which cryptography and the C library choose their code on x86
THP_OFF = "off"
DIGITS = 8
READ_XCR0 = bytes.fromhex("31c9 0f01d0 48c1e220 4809d0 c3")  # xor ecx,ecx; xgetbv; shl rdx,32; or rax,rdx; ret
PT_NOTE, NT_GNU_BUILD_ID = 4, 3

PathFields = dict[str, str | int | None]


def read_path() -> PathFields:
    """Return the path of this machine, as `machine.path` of a record has it; None is what this machine does not say."""
    about = read_cpuinfo()
    flags = about.get("flags", "").split()
    return {
        "vendor": about.get("vendor_id", about.get("CPU implementer")),
        "family": about.get("cpu family", about.get("CPU architecture")),
        "model": about.get("model", about.get("CPU part")),
        "xcr0": read_xcr0() if "xsave" in flags and platform.machine() == "x86_64" else None,
        "libc_build_id": read_libc_build_id(),
        "page_bytes": os.sysconf("SC_PAGE_SIZE"),
        "flags": " ".join(flag for flag in FLAGS if flag in flags) if flags else about.get("Features", ""),
    }


def path_digest(path: Mapping[str, object], cpus: int, hidden: Collection[str] = (), thp: str = THP_OFF) -> str:
    """Return the name of a path, the start of a SHA-256.

    The number of CPUs counts, since allocators and runtimes make as many arenas. `hidden`: flags that CPU= keeps from
    the library; `thp`: the huge pages that the process gets."""
    seen = " ".join(flag for flag in str(path["flags"]).split() if flag not in hidden)
    whole = {**path, "flags": seen, "cpus": cpus, "thp": thp}
    return hashlib.sha256(json.dumps(whole, sort_keys=True).encode()).hexdigest()[:DIGITS]


def read_cpuinfo() -> dict[str, str]:
    """Return what the kernel says of the first CPU."""
    first = CPUINFO.read_text().partition("\n\n")[0]
    lines = (line.partition(":") for line in first.splitlines())
    return {name.strip(): value.strip() for name, _, value in lines}


def read_xcr0() -> str | None:
    """Return the register states that the OS enables, XCR0, in hexadecimal.

    Only an instruction tells, so its code is put into a page; None where no page may be made executable."""
    try:
        page = mmap.mmap(-1, mmap.PAGESIZE, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
    except OSError:
        return None
    page.write(READ_XCR0)
    place = ctypes.c_char.from_buffer(page)
    found = ctypes.CFUNCTYPE(ctypes.c_uint64)(ctypes.addressof(place))()
    del place  # the page cannot be closed while something points into it
    page.close()
    return f"{found:#x}"


def read_libc_build_id() -> str | None:
    """Return the GNU build ID of the C library that is loaded here and in harnesses; None where it has none."""
    found = re.search(r"\s(/\S*/(?:libc\.so\.6|libc-[\d.]+\.so|ld-musl-\S+))$", MAPS.read_text(), re.MULTILINE)
    return read_build_id(Path(found[1])) if found else None


def read_build_id(file: Path) -> str | None:
    """Return the GNU build ID of a 64-bit little-endian ELF file; None where it has none."""
    content = file.read_bytes()
    if content[:6] != b"\x7fELF\x02\x01":
        return None
    (headers,) = struct.unpack_from("<Q", content, 32)
    size, count = struct.unpack_from("<HH", content, 54)
    for header in range(headers, headers + size * count, size):
        kind, _, at, _, _, length = struct.unpack_from("<IIQQQQ", content, header)
        end = at + length
        while kind == PT_NOTE and at + 12 <= end:
            name_size, value_size, note = struct.unpack_from("<III", content, at)
            value = at + 12 + (name_size + 3 & ~3)
            if note == NT_GNU_BUILD_ID and content[at + 12 : at + 16] == b"GNU\0":
                return content[value : value + value_size].hex()
            at = value + (value_size + 3 & ~3)
    return None
