"""The call stacks of a sites run, as a record keeps them. See docs/records.md."""

from typing import Self

from pydantic import NonNegativeInt, PositiveInt, model_validator

from tlsmem.schema.harness_output import Model


class Frame(Model):
    """One function of a call stack, as its module's debug information names it."""

    function: str | None
    file: str | None
    line: PositiveInt | None
    module: str
    offset: NonNegativeInt


class Sites(Model):
    """Call stacks of a sites run: frames are indices, innermost first; inlined functions are frames of their own."""

    frames: list[Frame]
    stacks: list[list[NonNegativeInt]]

    @model_validator(mode="after")
    def whole(self) -> Self:
        if any(frame >= len(self.frames) for stack in self.stacks for frame in stack):
            raise ValueError("a call stack has a frame that is not among its frames")
        return self
