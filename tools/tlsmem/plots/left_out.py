"""What a picture does not show, and why: a sentence of its caption."""

from collections.abc import Iterable, Mapping

from tlsmem.base.printable import strip_suite
from tlsmem.config.libraries import libraries, library_key
from tlsmem.store.record import Record

NOT_RECORDED = "not recorded"


def shorten_reason(reason: str) -> str:
    """Return a driver's reason without its library's version, the suite that was asked for, and details."""
    words = strip_suite(reason).split(": ")
    if words[0].endswith(" process"):
        words = words[1:]  # whose process it was: of the server or of the client
    return words[1 if len(words) > 1 else 0].partition(", ")[0].replace("TLSv", "TLS ")


def find_refusals(runs: Iterable[Record]) -> dict[str, str]:
    """Return why each library could not do some of these runs, in its driver's words, by the library's key."""
    found: dict[str, str] = {}
    for run in runs:
        if run.status == "unsupported" and run.reason:
            found.setdefault(library_key(run.stack), shorten_reason(run.reason))
    return found


def join_reasons(reasons: Mapping[str, str]) -> str:
    """Return `BearSSL, LibreSSL (no TLS 1.3); Go crypto/tls (not recorded)` of reasons by name."""
    names: dict[str, list[str]] = {}
    for name, reason in reasons.items():
        names.setdefault(reason, []).append(name)
    return "; ".join(f"{', '.join(some)} ({reason})" for reason, some in names.items())


def describe_left_out(
    there: Iterable[str], drawn: Iterable[str], reasons: Mapping[str, str] | None = None, otherwise: str = NOT_RECORDED
) -> str:
    """Return which libraries are not drawn and why: a sentence with a blank at its end, so that others follow it.

    `there` and `drawn` are stacks. `reasons` are by a library's key; `otherwise` is that of libraries without one.
    Nothing where every library that is there is drawn."""
    missing = {library_key(stack) for stack in there} - {library_key(stack) for stack in drawn}
    found = {
        library.name: (reasons or {}).get(key, otherwise) for key, library in libraries().items() if key in missing
    }
    return f"Not drawn: {join_reasons(found)}. " if found else ""
