"""Which libraries a picture does not show, and why: a sentence of its caption."""

from collections.abc import Iterable, Mapping

from tlsmem.config.libraries import libraries, library_key
from tlsmem.run.validate import strip_suite
from tlsmem.schema.records import Record

NOT_RECORDED = "not recorded"


def find_refusals(runs: Iterable[Record]) -> dict[str, str]:
    """Return why each library could not do some of these runs, in its driver's words, by the library's key."""
    found: dict[str, str] = {}
    for run in runs:
        if run.status == "unsupported" and run.reason:
            words = strip_suite(run.reason).split(": ")
            if words[0].endswith(" process"):
                words = words[1:]  # whose process it was: of the server or of the client
            first = words[1 if len(words) > 1 else 0].partition(", ")[0]
            found.setdefault(library_key(run.stack), first.replace("TLSv", "TLS "))
    return found


def describe_left_out(
    there: Iterable[str], drawn: Iterable[str], reasons: Mapping[str, str] | None = None, otherwise: str = NOT_RECORDED
) -> str:
    """Return `Not drawn: BearSSL, LibreSSL (no TLS 1.3); Go crypto/tls (not recorded). `, with a blank at its end.

    `there` and `drawn` are stacks. `reasons` are by a library's key; `otherwise` is that of libraries without one.
    Nothing where every library that is there is drawn."""
    missing = {library_key(stack) for stack in there} - {library_key(stack) for stack in drawn}
    names: dict[str, list[str]] = {}
    for key, library in libraries().items():
        if key in missing:
            names.setdefault((reasons or {}).get(key, otherwise), []).append(library.name)
    said = "; ".join(f"{', '.join(some)} ({reason})" for reason, some in names.items())
    return f"Not drawn: {said}. " if said else ""
