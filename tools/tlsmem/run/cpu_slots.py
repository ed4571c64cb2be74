"""Several runs at a time, each in a slot with a CPU of its own; signals stop them all and leave no process behind."""

import asyncio
import signal
from collections import deque
from collections.abc import Awaitable, Callable, Coroutine, Iterable
from typing import Any, TypeVar

from tlsmem.base.errors import UserError, raise_first

Result = TypeVar("Result")
Item = TypeVar("Item")
Work = Callable[[int, int, Item], Awaitable[None]]  # slot, CPU, what is to be done


async def run_in_slots(items: Iterable[Item], cpus: list[int], work: Work[Item]) -> None:
    """One slot for each of `cpus`; every slot takes the next item when it has finished one."""
    waiting = deque(items)

    async def slot(number: int, cpu: int) -> None:
        while waiting:
            await work(number, cpu, waiting.popleft())

    async with asyncio.TaskGroup() as group:
        for number, cpu in enumerate(cpus):
            group.create_task(slot(number, cpu))


def run_to_completion(coroutine: Coroutine[Any, Any, Result], stopped: str) -> Result:
    """Run it to its end. SIGINT, SIGTERM and, unless it is ignored, SIGHUP cancel it, and raise UserError with the
    sentence `stopped` and the exit status 128 and the signal's number.

    A UserError in a slot stops all slots, and is raised."""
    caught: list[int] = []

    async def guarded() -> Result:
        task = asyncio.current_task()
        assert task  # this coroutine runs in one

        def stop(number: int) -> None:
            caught.append(number)
            task.cancel()

        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            if signal.getsignal(number) is signal.SIG_IGN:  # by nohup
                continue
            asyncio.get_running_loop().add_signal_handler(number, stop, number)
        return await coroutine

    try:
        with raise_first(UserError):
            return asyncio.run(guarded())
    except asyncio.CancelledError:
        raise UserError(stopped, status=128 + caught[0]) from None
