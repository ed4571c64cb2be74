"""A profile as a command opens it: a bar on a terminal while it is read, and what is wrong with it on stderr."""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from tlsmem.base.errors import Usage
from tlsmem.base.nearest import suggest_nearest
from tlsmem.base.printable import printable_text
from tlsmem.profile import open_profile
from tlsmem.profile.errors import Unreadable
from tlsmem.profile.heap_profile import Profile


def read_profile(file: str, suite: str | None = None, stack: str | None = None) -> Profile:
    """Raises Unreadable with a sentence when it is no profile, ValueError when it is of another stack or suite than
    asked for; what its reader warns of goes to stderr."""
    with bar(file) as progress:
        found = open_profile.open_profile(file, progress, suite, stack)
    insist(found, suite, stack)
    for warning in found.warnings:
        print(printable_text(f"memtest: {found.file}: {warning}"), file=sys.stderr)
    return found


def insist(profile: Profile, suite: str | None, stack: str | None) -> None:
    run = profile.run
    for what, name, recorded in (("suite", suite, run and run.suite), ("stack", stack, run and run.stack)):
        if name is None:
            continue
        if run is None:
            raise ValueError(
                f"{profile.file}: no record beside this profile says of which {what} it is; leave --{what} out"
            )
        if recorded != name:
            of = f"{run.stack}, {run.suite}"
            raise ValueError(f"{profile.file}: this profile is of {of}; leave --{what} {name} out")


def find_profile(file: str, stack: str | None = None) -> str:
    """Return the path of a profile, of which `file` is the path or the name below data/. In a recording's directory it
    is the file of the stack. Raises Unreadable with a sentence where there are several, and Usage where it is not."""
    if Path(file).is_file():
        return file
    from tlsmem.schema.recording_files import find_recording, list_files, stack_name  # with pydantic: slow to import

    folder = find_recording(file)
    if not folder or not folder.is_dir():
        return str(folder or file)
    files = {stack_name(one): one for one in list_files(folder)}
    if not (there := sorted(files)):
        return file
    if stack is None and len(there) > 1:
        raise Unreadable(f"{file}: runs of several stacks: choose one with --stack: {', '.join(there)}")
    if stack is not None and stack not in there:
        near = suggest_nearest(stack, there) or f"; it has: {', '.join(there)}"
        raise Usage(f"{file}: no runs of the stack {stack}{near}")
    return str(files[stack or there[0]])


@contextmanager
def bar(file: str) -> Iterator[Callable[[int], None] | None]:
    """What is to be told how many bytes of the file were read; None where nobody would see it."""
    if not sys.stderr.isatty() or not Path(file).is_file():
        yield None
        return
    import rich.console
    from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeRemainingColumn

    console = rich.console.Console(stderr=True)
    about = [TextColumn("{task.description}", markup=False), BarColumn(), DownloadColumn(), TimeRemainingColumn()]
    with Progress(*about, console=console, transient=True) as board:
        task = board.add_task(Path(file).name, total=Path(file).stat().st_size)
        yield lambda read: board.update(task, completed=read)
