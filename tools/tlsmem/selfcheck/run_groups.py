"""What is judged at once: the runs of one process of one stack in one setting."""

from collections.abc import Iterator
from dataclasses import dataclass

from tlsmem.config.matrix import SYSTEM
from tlsmem.schema.harness_output import Process
from tlsmem.stats.selection import Selection
from tlsmem.stats.series import Series, Setting


@dataclass(frozen=True)
class Judged:
    """The runs of one process of one stack in one setting."""

    selection: Selection
    stack: str
    setting: Setting
    process: Process

    @property
    def series(self) -> Series:
        return self.selection.series(self.stack, self.setting, self.process)

    @property
    def roles(self) -> list[str]:
        return [role for role, process in self.setting.processes.items() if process == self.process]

    def __str__(self) -> str:
        kind = [] if self.setting.roles == "together" else [self.setting.roles]
        others = [self.setting.allocator] * (self.setting.allocator != SYSTEM)
        windowed = [f"window {self.setting.window}"] * (self.setting.window != "all")
        return ", ".join([self.stack, self.setting.suite, *others, *windowed, *kind])


def every(selection: Selection) -> Iterator[Judged]:
    for setting in selection.settings:
        for stack in selection.stacks:
            for process in dict.fromkeys(setting.processes.values()):
                yield Judged(selection, stack, setting, process)
