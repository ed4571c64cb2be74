"""Several runs at a time, each in a slot with a CPU of its own; signals stop them all and leave no process behind."""

import asyncio
import signal
import sys
from collections import deque
from collections.abc import Awaitable, Callable, Coroutine, Iterable
from typing import Any, TypeVar

Result = TypeVar("Result")
Item = TypeVar("Item")
Work = Callable[[int, int, Item], Awaitable[None]]  # slot, CPU, what is to be done


class SlotExit(Exception):
    """What sys.exit was called with in a slot; asyncio knows no other way out of its tasks than an exception."""


async def run_in_slots(items: Iterable[Item], cpus: list[int], work: Work[Item]) -> None:
    """One slot for each of `cpus`; every slot takes the next item when it has finished one."""
    waiting = deque(items)

    async def slot(number: int, cpu: int) -> None:
        while waiting:
            try:
                await work(number, cpu, waiting.popleft())
            except SystemExit as error:
                raise SlotExit(error.code) from None

    async with asyncio.TaskGroup() as group:
        for number, cpu in enumerate(cpus):
            group.create_task(slot(number, cpu))


def run_to_completion(coroutine: Coroutine[Any, Any, Result], stopped: str) -> Result:
    """Runs it to its end. SIGINT, SIGTERM and, unless it is ignored, SIGHUP cancel it, say the sentence `stopped`,
    and exit with 128 and the signal's number.
    What sys.exit says in a slot stops all slots, and is the way out."""
    caught: list[int] = []

    async def guarded() -> Result:
        task = asyncio.current_task()

        def stop(number: int) -> None:
            caught.append(number)
            task.cancel()

        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            if signal.getsignal(number) is signal.SIG_IGN:  # by nohup
                continue
            asyncio.get_running_loop().add_signal_handler(number, stop, number)
        return await coroutine

    try:
        return asyncio.run(guarded())
    except asyncio.CancelledError:
        print(f"memtest: {stopped}", file=sys.stderr)
        sys.exit(128 + caught[0])
    except ExceptionGroup as group:
        refused, faults = group.split(SlotExit)
        if faults:
            raise
        sys.exit(refused.exceptions[0].args[0])
