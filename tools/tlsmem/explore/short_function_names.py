"""Names of functions, short enough for a column: without paths of modules, generics and arguments."""

from tlsmem.base.printable import printable_text
from tlsmem.profile.frames import Frame

OPEN, CLOSE = "<(", ">)"


def short(function: str) -> str:
    """`rustls::msgs::Deframer<T>::read` is `Deframer::read`, `<A as b::B>::f` is `A::f`; C's names stay as they are."""
    if "operator" in function:
        return function  # its < and ( are no brackets
    if function.startswith("<") and (end := closing_bracket(function)):
        of = implementing_type(function[1 : end - 1])
        return short(f"{of}{function[end:]}") if of else function
    parts = [part for part in strip_brackets(function).split("::") if part]
    named = [part for part in parts if not part.startswith("{")]
    if not named:
        return function
    first = parts.index(named[-2]) if len(named) > 1 else 0
    return "::".join(parts[first:])


def describe_frame(frame: Frame) -> str:
    """`function (file:line)`, or where it is in its module."""
    return printable_text(str(frame._replace(function=short(frame.function)) if frame.function else frame))


def frame_name(frame: Frame) -> str:
    """As said, without where a function with a name is."""
    return printable_text(short(frame.function)) if frame.function else describe_frame(frame)


def implementing_type(inside: str) -> str:
    """The type of `TYPE as TRAIT`, by its last name alone."""
    return strip_brackets(inside.split(" as ")[0].lstrip("&*<")).split("::")[-1]


def closing_bracket(text: str) -> int | None:
    """Where the bracket that opens `text` is closed, exclusively."""
    depth = 0
    for at, sign in enumerate(text):
        depth += (sign == "<") - (sign == ">" and text[at - 1] != "-")
        if not depth:
            return at + 1
    return None


def strip_brackets(text: str) -> str:
    """Without what is in brackets; `(anonymous namespace)` stays, an unbalanced name too."""
    kept, depth = "", 0
    for at, sign in enumerate(text):
        if sign in OPEN and not text.startswith("(anonymous", at):
            depth += 1
        elif depth and sign in CLOSE:
            depth -= text[at - 1] != "-" or sign == ")"
        elif not depth:
            kept += sign
    return text if depth else kept.removesuffix(" const")
