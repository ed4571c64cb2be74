"""The tables of tools/dev/check_census.py."""

import argparse
import sys
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

from rich.console import Console

from census_looks import Look, look_at_client, look_at_server
from census_refusals import REFUSALS, Refusal, refuse_server
from census_servers import PYTHON, TlsServer, find_program, has_jemalloc, list_servers
from census_stacks import read_library_bytes
from tlsmem.base import markdown_embedding
from tlsmem.base.errors import UserError
from tlsmem.config.choices import MARKDOWN
from tlsmem.live.network import Network
from tlsmem.stats.missing import Missing
from tlsmem.tables import render
from tlsmem.tables.table import Cell, Column, Table, integer_cell, text_cell

CLIENT = "CPython, client"
LIMIT_S = 2700
IN_MAPPINGS = "stunnel"  # it has blocks above 4 KiB put into mappings of their own, which are whole pages
TITLE = "The census of running programs, compared with known values"
CAPTION = (
    "True: sessions by the client's count. Socket open: sessions whose socket the program has open. Unexplained: the "
    "share of RssAnon that no part of the census explains. Census: chunks of malloc that a session alone holds, with "
    "their headers, in two parts: the library's, and what the program keeps in BIOs of its own. The library allocated: "
    "chunks of the blocks that it allocated by heaptrack's call stacks, beyond those with all sessions closed, in "
    "another run. Heap meter: requested bytes that the program "
    "frees when a connection ends, those of its own included, in another run. Changed: by how much the sum of the "
    "program's RSS, page tables and proportional share in anonymous memory (Pss_Anon) grew during the census. s: "
    "seconds that the census took, without the start of Python."
)


REFUSALS_TITLE = "Programs that cannot be counted"
REFUSALS_CAPTION = "The sentence that the command ends with."


def percent_cell(share: float) -> Cell:
    return Cell(f"{share:.2%}".replace("%", " %").replace("-0.00", "0.00"), share)


def rounded(value: float) -> Cell:
    return integer_cell(round(value))


def seconds_cell(value: float) -> Cell:
    return Cell(f"{value:.2f}", value)


def own_bios_per_session(look: Look) -> float | Missing:
    if isinstance(look.own_bio_bytes, Missing):
        return look.own_bio_bytes
    return look.own_bio_bytes / max(look.counted, 1)


def library_per_session(look: Look) -> float | Missing:
    if isinstance(look.own_bio_bytes, Missing):
        return look.own_bio_bytes
    return (look.tls_bytes - look.own_bio_bytes) / max(look.counted, 1)


COLUMNS = (
    Column("program", "program", left=True, value=lambda one: one.program),
    Column("library", "library", left=True, value=lambda one: one.library),
    Column("state", "state", left=True, value=lambda one: one.state),
    Column("true", "true", value=lambda one: one.true, form=integer_cell),
    Column("counted", "counted", value=lambda one: one.counted, form=integer_cell),
    Column("with_socket", "socket open", value=lambda one: one.with_socket, form=integer_cell),
    Column("unexplained", "unexplained", value=lambda one: 1 - one.parts_bytes / one.anon_bytes, form=percent_cell),
    Column("library_bytes", "census: the library, B/session", value=library_per_session, form=rounded),
    Column("of_library", "the library allocated, B/session", value=lambda one: one.of_library, form=rounded),
    Column("own_bio_bytes", "census: the program's BIOs, B/session", value=own_bios_per_session, form=rounded),
    Column("metered", "heap meter, B/connection", value=lambda one: one.metered, form=rounded),
    Column("touched", "changed, B", value=lambda one: one.touched_bytes, form=integer_cell),
    Column("seconds", "s", value=lambda one: one.seconds, form=seconds_cell),
)


def refusal_cell(said: str | None) -> Cell:
    return text_cell(said or "it was counted")


REFUSAL_COLUMNS = (
    Column("program", "program", left=True, value=lambda one: one[0].program),
    Column("said", "what the census says", left=True, value=lambda one: one[1], form=refusal_cell),
)


def list_programs(
    word: str, root: Path | None
) -> tuple[dict[str, Callable[[Network, int], list[Look]]], list[Refusal]]:
    """Return what makes the looks of each program that is installed, and the programs that the census refuses. Raises
    UserError for a word in no name."""
    found: dict[str, Callable[[Network, int], list[Look]]] = {}
    servers = list_servers(root)
    with_jemalloc = [one for one in servers if has_jemalloc(one)]
    refusals = [one for one in [*REFUSALS, *map(refuse_server, with_jemalloc)] if word.lower() in one.program.lower()]
    servers = [one for one in servers if one not in with_jemalloc]
    for server in servers:
        found[name_server(server)] = lambda network, n, server=server: look_at(server, network, n)
        if server is PYTHON:
            found[CLIENT] = look_at_python_client
    chosen = {title: look for title, look in found.items() if word.lower() in title.lower()}
    if not chosen and not refusals:
        raise UserError(f"--program {word}: there are {'; '.join(found)}", 2)
    missing = {name_server(server): server for server in servers if not find_program(server)}
    for title in [title for title in chosen if title in missing]:
        print(f"check-census: {title} is not there: {missing[title].advice}", file=sys.stderr)
        del chosen[title]
    return chosen, refusals


def look_at(server: TlsServer, network: Network, n: int) -> list[Look]:
    return list(look_at_server(server, network, n, read_library_bytes(server, network, n)))


def look_at_python_client(network: Network, n: int) -> list[Look]:
    return list(look_at_client(PYTHON, network, n, CLIENT, read_library_bytes(PYTHON, network, n, of_client=True)))


def name_server(server: TlsServer) -> str:
    return f"{server.title}, {server.stack}" if server.stack else server.title


def check(given: argparse.Namespace, parser: argparse.ArgumentParser) -> None:
    """Print the tables or put them into the page; then a sentence, as an error, where something does not hold."""
    chosen, refusals = list_programs(given.program, given.root)
    looks = list[Look]()
    failures = list[str]()
    with Network(LIMIT_S) as network, Console(stderr=True).status("") as status:
        for title, look in chosen.items():
            status.update(title)
            try:
                looks += look(network, given.sessions)
            except UserError as error:
                failures.append(f"{title}: {error}")
        sentences = list[tuple[Refusal, str | None]]()
        for one in refusals:
            status.update(one.program)
            try:
                sentences.append((one, one.say(network)))
            except UserError as error:
                failures.append(f"{one.program}: {error}")
    table = Table("census", TITLE, CAPTION, COLUMNS)
    table.add_rows(looks)
    refused = Table("census-refusals", REFUSALS_TITLE, REFUSALS_CAPTION, REFUSAL_COLUMNS)
    refused.add_rows(sentences)
    text = render.format_tables([one for one in (table, refused) if one.rows], MARKDOWN)
    if given.into:
        try:
            markdown_embedding.replace_block(given.into, given, parser, text)
        except (OSError, ValueError) as error:
            raise UserError(str(error)) from None
    else:
        print(text, end="")
    failures += list_failures(looks)
    failures += [f"{one.program}: it was counted, and should be refused" for one, said in sentences if not said]
    if failures:
        raise UserError("check-census: " + "; ".join(failures))


def list_failures(looks: Iterable[Look]) -> Iterator[str]:
    """Yield what does not hold, a sentence each."""
    looks = list(looks)
    for program in dict.fromkeys(look.program for look in looks):
        found = [look.of_library for look in looks if look.program == program and look.true]
        reasons = [one.reason for one in found if isinstance(one, Missing)]
        if reasons and len(reasons) == len(found):
            yield f"{program}: its bytes were compared with nothing: {reasons[0]}"
    for look in looks:
        where, unexplained = f"{look.program}, {look.state}", look.anon_bytes - look.parts_bytes
        if not look.is_counted:
            yield f"{where}: {look.counted:,} sessions counted, {look.true:,} are true"
        if not isinstance(look.with_socket, Missing) and look.with_socket != look.counted:
            yield f"{where}: of {look.counted:,} sessions {look.with_socket:,} have an open socket"
        each = library_per_session(look)
        known = not isinstance(each, Missing) and not isinstance(look.of_library, Missing)
        if known and abs(each - look.of_library) > look.of_library / 20 and not look.program.startswith(IN_MAPPINGS):
            yield f"{where}: a session has {each:,.0f} B by the census, the library allocated {look.of_library:,.0f} B"
        # A look can only add pages; a collector that returns some is the program's own.
        if look.touched_bytes > 0:
            yield f"{where}: RSS, page tables and Pss_Anon grew by {look.touched_bytes:,} B"
        if abs(unexplained) > look.anon_bytes / 100:
            yield f"{where}: the parts leave {unexplained:,} B of RssAnon unexplained"
