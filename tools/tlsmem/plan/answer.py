"""The answers of `plan`: memory of so many connections, how many fit, storms, fleets, HAProxy, and the check."""

import argparse
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

from tlsmem.base import markdown_embedding
from tlsmem.base.errors import raise_user_errors
from tlsmem.base.printable import printable_text
from tlsmem.config import choices
from tlsmem.plan import (
    check_answer,
    find_model,
    fit_answer,
    haproxy_answer,
    live_check,
    memory_answer,
    prediction_answer,
    predictions,
    screen,
)
from tlsmem.plan.assumptions import haproxy_assumptions
from tlsmem.plan.capacity import Demand
from tlsmem.plan.case import Case
from tlsmem.plan.request import (
    ImpossibleRequest,
    check_demand,
    given_assumptions,
    kernel_bytes,
    list_kept_words,
    live_recordings,
    priced_case,
    requested_builds,
    requested_cases,
    requested_demand,
    requested_model,
    requested_stacks,
)
from tlsmem.plan.screen import Answer
from tlsmem.plan.terms_table import common_tables
from tlsmem.schema import recording_files
from tlsmem.stats import recorded_stacks
from tlsmem.store import recordings
from tlsmem.tables import render, table_command
from tlsmem.tables.table import Table

if TYPE_CHECKING:
    from tlsmem.plan.storm_answer import StormResult


def with_terms(given: argparse.Namespace, answer: Answer, cases: Sequence[Case]) -> Answer:
    """Return the answer with the tables that all have; warn of runs that were left out, and where only tables are
    printed, of costs that are not recorded."""
    missing = [one for case in cases for one in case.configured.missing] if given.table or given.format else []
    warnings = (
        f"{recordings.display_name(case.model.origin)}: {sentence}"
        for case in cases
        for sentence in case.model.left_out
        if case.model.origin
    )
    for warning in dict.fromkeys((*missing, *warnings)):
        print(printable_text(f"memtest: {warning}"), file=sys.stderr)
    among = recordings.find_recordings(given.recording)
    tables = common_tables(cases, given.kernel_bytes is not None, given.record_bytes is not None, among)
    return answer._replace(tables=[*answer.tables, *tables])


def answer_memory(given: argparse.Namespace) -> Answer:
    demand = check_demand(requested_demand(given), given.connections)
    cases, left_out = requested_cases(given, bool(demand.handshaking))
    answer = memory_answer.answer_memory(cases, demand, given.connections, given_assumptions(given))
    return with_terms(given, answer, cases)._replace(left_out=left_out)


def answer_fit(given: argparse.Namespace) -> Answer:
    demand = check_demand(requested_demand(given), None)
    cases, left_out = requested_cases(given, bool(demand.handshaking))
    answer = fit_answer.answer_fit(cases, demand, given.memory, given_assumptions(given), list_kept_words(given))
    return with_terms(given, answer, cases)._replace(left_out=left_out)


def draw_storms(given: argparse.Namespace, storms: "list[StormResult]", event: str) -> None:
    """Save the picture, where one is asked for."""
    if not given.output:
        return
    from tlsmem.plan import storm_answer, storm_picture  # the picture is slow to import

    settings, finding = storm_picture.describe_settings(storms, given), storm_answer.storm_finding(storms, event)
    for file in storm_picture.save(storms, finding, settings, given.output):
        print(f"plan: {file}", file=sys.stderr)


def answer_storm(given: argparse.Namespace) -> Answer:
    from tlsmem.plan import storm_answer  # slow to import, as it needs numpy

    cases, left_out = requested_cases(given)
    storms = [storm_answer.run_storm(given, case, given.clients) for case in cases]
    answer = storm_answer.answer_storm(storms, given.clients, given.within)
    draw_storms(given, storms, f"{given.clients:,} clients back within {given.within:g} s")
    return with_terms(given, answer, cases)._replace(left_out=left_out)


def answer_fleet(given: argparse.Namespace) -> Answer:
    from tlsmem.plan import fleet_answer, storm_answer  # slow to import, as they need numpy

    if given.fail >= given.hosts:
        raise ImpossibleRequest(f"--fail {given.fail} of --hosts {given.hosts} leaves no host")
    fleet = fleet_answer.Fleet(given.clients, given.hosts, given.fail)
    if not fleet.more:
        raise ImpossibleRequest(
            f"--clients {given.clients} are too few for --hosts {given.hosts}: after --fail {given.fail}, no host has "
            "more clients than before; give more --clients"
        )
    cases, left_out = requested_cases(given)
    usual = check_demand(Demand(given.handshaking, given.in_flight), fleet.before)
    storms = [storm_answer.run_storm(given, one, fleet.more, fleet.before, usual) for one in cases]
    draw_storms(given, storms, fleet.failure)
    return with_terms(given, fleet_answer.answer_fleet(storms, fleet), cases)._replace(left_out=left_out)


def answer_haproxy(given: argparse.Namespace) -> Answer:
    """In use as HAProxy runs the stack."""
    given = argparse.Namespace(
        **vars(given) | {"server": "haproxy", "state": "in-use", "low_memory": False, "tickets": None}
    )
    roles = ("server", "client") if given.role == "both" else (given.role,)
    among = recordings.find_recordings(given.recording)
    known = recorded_stacks.resolve_stacks(given.stack, among, given.suite) if given.stack else ()
    stacks = known or haproxy_assumptions().stacks
    pairs = []
    for stack in stacks:
        models = [requested_model(given, stack, role, handshakes=True) for role in roles]
        pairs.append((priced_case(given, models[0]), models))
    answer = haproxy_answer.answer_haproxy(pairs, given.memory, len(roles), kernel_bytes(given, given.role))
    return with_terms(given, answer, [case for case, _ in pairs])


def answer_check(given: argparse.Namespace) -> Answer:
    stacks = requested_stacks(argparse.Namespace(**vars(given) | {"server": None}))
    among = recordings.find_recordings(given.recording)
    suite = find_model.check_suite(given.suite) if given.suite else recorded_stacks.usual_suite(stacks[0], among)
    live = [] if given.stack or given.suite or given.recording else live_check.check_live(live_recordings(given))
    answer = check_answer.answer_check(stacks, suite, among, live)
    return prediction_answer.add_outcomes(answer, live_recordings(given)) if live else answer


def answer_predict(given: argparse.Namespace) -> Answer:
    among = live_recordings(given)
    stacks = requested_builds(given, among)
    found = predictions.predict(given.server, stacks, given.n, given.window, among)
    if given.write:
        predictions.append(predictions.FILE, found)
    asked = len(stacks) * sum(len(predictions.list_windows(count, given.window)) for count in given.n)
    return prediction_answer.answer_predict(found, asked, given.write)


ANSWERS = {
    "memory": answer_memory,
    "fit": answer_fit,
    "storm": answer_storm,
    "fleet": answer_fleet,
    "haproxy": answer_haproxy,
    "predict": answer_predict,
    "check": answer_check,
}


def select_tables(tables: Sequence[Table], names: Sequence[str] | None) -> list[Table]:
    """Return the tables that were asked for. Raises ImpossibleRequest where this answer has not such a table."""
    there = [one.name for one in tables]
    for name in names or ():
        if name not in there:
            raise ImpossibleRequest(f"--table {name}: this answer has the tables {', '.join(there)}")
    return [one for one in tables if not names or one.name in names]


def deliver(answer: Answer, given: argparse.Namespace, parser: argparse.ArgumentParser) -> None:
    """Print the answer, or write it into a page; tables alone where a form or a table is asked for."""
    tables = select_tables(answer.tables, given.table)
    if given.format == choices.CSV and not given.table:
        tables, others = tables[:1], [one.name for one in tables[1:]]
        if others:
            also = f"--table {' or '.join(others)} prints another, --format json all"
            print(f"memtest: CSV has one table, {tables[0].name}; {also}", file=sys.stderr)
    if given.table or given.format:
        table_command.deliver(tables, given, parser)
    elif given.into:
        text = f"```text\n{screen.plain_screen(answer)}```\n"
        text += f"\n{render.format_tables(tables, choices.MARKDOWN)}" if given.details else ""
        markdown_embedding.replace_block(given.into, given, parser, text)
    else:
        screen.print_screen(answer)
        if given.details:
            print(flush=True)
            render.print_all(tables)


def print_answer(given: argparse.Namespace, parser: argparse.ArgumentParser) -> int:
    """Print what was asked for; return the exit status: 1 if a part of it is missing. Raises UserError."""
    with raise_user_errors(given.into):
        harness, live = recordings.split_live(given.recording)
        given = argparse.Namespace(**vars(given) | {"recording": harness, "live": live})
        answer = ANSWERS[given.answer](given)
        deliver(answer, given, parser)
    for reason in answer.left_out:
        print(printable_text(f"memtest: left out: {reason}"), file=sys.stderr)
    return 1 if recording_files.skipped_lines or answer.left_out else 0
