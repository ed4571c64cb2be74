"""Prints what is in a memray file as JSON, by memray's own reader: `python memray_records.py FILE`.

A process of its own, with limits, since that reader is native code, which a damaged file can crash. It needs memray and
the standard library only."""

import json
import os
import resource
import sys
from collections.abc import Iterable
from typing import Any

# Bytes: for each byte of the file, which is packed, besides what any file takes, and at most. A damaged file of 33 KB
# made memray 1.20 fill 5 GB.
ADDRESS_SPACE_OF_A_BYTE, ADDRESS_SPACE_OF_ANY, MOST_ADDRESS_SPACE = 64, 1 << 30, 8 << 30
CPU_S = 600
MOST_STACKS = 1_000_000
UNREADABLE = 3  # exit status: the reason is on stderr


def limit_process(file: str) -> None:
    address_space = os.path.getsize(file) * ADDRESS_SPACE_OF_A_BYTE + ADDRESS_SPACE_OF_ANY
    for limit, most in (
        (resource.RLIMIT_AS, min(address_space, MOST_ADDRESS_SPACE)),
        (resource.RLIMIT_CPU, CPU_S),
        (resource.RLIMIT_CORE, 0),
    ):
        resource.setrlimit(limit, (most, most))


def read(file: str) -> dict[str, Any]:
    """Return the content: `frames` are [function, file, line], `peak` and `end` lists of [bytes, blocks, frames by
    number, innermost first]."""
    import memray

    frames: dict[tuple[str, str, int], int] = {}
    with memray.FileReader(file) as reader:
        about = reader.metadata

        def stacks(records: Iterable[Any]) -> list[tuple[int, int, list[int]]]:
            found = []
            for record in records:
                trace = record.hybrid_stack_trace() if about.has_native_traces else record.stack_trace()
                numbers = [frames.setdefault(tuple(frame), len(frames)) for frame in trace]
                found.append((record.size, record.n_allocations, numbers))
                if len(found) > MOST_STACKS:
                    raise ValueError(f"it has more than {MOST_STACKS:,} call stacks")
            return found

        content = {
            "command": about.command_line,
            "runtime_s": (about.end_time - about.start_time).total_seconds(),
            "has_native_frames": about.has_native_traces,
            "has_python_allocators": about.trace_python_allocators,
            "peak": stacks(reader.get_high_watermark_allocation_records(merge_threads=True)),
            "end": stacks(reader.get_leaked_allocation_records(merge_threads=True)),
            "frames": list(frames),
        }
    return content


def main() -> int:
    try:
        limit_process(sys.argv[1])
        content = read(sys.argv[1])
    except (OSError, RuntimeError, ValueError, TypeError, LookupError, ArithmeticError, MemoryError) as error:
        print(" ".join(str(error).split()) or type(error).__name__, file=sys.stderr)
        return UNREADABLE
    json.dump(content, sys.stdout)
    return 0


if __name__ == "__main__":
    sys.exit(main())
