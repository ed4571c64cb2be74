"""The table `contexts`: what one more context costs, one more root in its store, one more certificate by name.

A column is one entry of COLUMNS: what it takes of a Row, and how that is written. A question is one entry of
QUESTIONS."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction

from tlsmem.base.printable import strip_suite
from tlsmem.config.libraries import stack_title
from tlsmem.config.releases import version
from tlsmem.stats.comparability import machine_identity
from tlsmem.stats.contexts import SCENARIO, Case, Contexts, Cost, find_contexts
from tlsmem.stats.missing import Missing, keep_present, map_present
from tlsmem.store.record import Record
from tlsmem.tables.phase_holder import Holder, find_holder, holder_cell
from tlsmem.tables.runtime import GARBAGE_NOTE, RUNTIME_NOTE, Size, size_cell, size_if_known
from tlsmem.tables.table import Cell, Column, Table, fraction_cell, optional

CAPTION = (
    "Bytes of live heap and of RSS for one more context, of a client with 1, 10 or 150 trusted roots (CAs); for one "
    "more CA in its store; for one more certificate with its name in a server. Sessions are established, and counted "
    "with their own context if they have one. Gained: what the library adds to a context when a session uses it, and "
    "keeps. Not freed: what the process keeps when all contexts are freed. Held by: the function whose blocks are "
    "largest, outside the library's own containers. RSS: with what the allocator adds to each block."
)
ONE_ROOT = Case(sharing="each-client")


@dataclass(frozen=True)
class Question:
    """What is asked of every stack."""

    name: str
    answer: Callable[[Contexts], Cost]
    case: Case | None = None  # where its call stacks are, of the owner's blocks
    owner: str = ""


QUESTIONS = (
    Question("one more client context", lambda it: it.context("client"), ONE_ROOT, "client context"),
    Question(
        "one more client context, 10 CAs",
        lambda it: it.context("client", 10),
        Case(roots=10, sharing="each-client"),
        "client context",
    ),
    Question(
        "one more client context, 150 CAs",
        lambda it: it.context("client", 150),
        Case(roots=150, sharing="each-client"),
        "client context",
    ),
    Question("one more CA in a store", lambda it: it.root()),
    Question("one more server context", lambda it: it.context("server"), Case(sharing="each-server"), "server context"),
    Question("one more name", lambda it: it.name(), Case(names=100), "server context"),
    Question("client session, shared context", lambda it: it.session("client", "shared")),
    Question("client session, own context", lambda it: it.session("client", "each-client")),
    Question("client session, own context, 150 CAs", lambda it: it.session("client", "each-client", 150)),
    Question("server session, shared context", lambda it: it.session("server", "shared")),
    Question("server session, own context", lambda it: it.session("server", "each-server")),
)


@dataclass(frozen=True)
class Row:
    """The answer of one stack to a question."""

    question: Question
    contexts: Contexts
    cost: Cost

    @property
    def holder(self) -> Holder | Missing:
        """The function that holds most of it."""
        if not self.question.case:
            return Missing("the difference of two rows")
        run = self.contexts.sites_run(self.question.case)
        return map_present(lambda run: find_holder(run, self.question.owner, "opened"), run)

    @property
    def gained(self) -> Fraction | Missing:
        """What use adds to it."""
        return Missing("of contexts only") if self.cost.used is None else self.cost.used

    def size(self, value: Fraction | Missing, note: str) -> Size | Missing:
        """Return the value, with the note where a runtime tells it."""
        return size_if_known(value, note if self.contexts.by_runtime else None)


def rounded_cell(size: Size) -> Cell:
    """To the byte: RSS is pages."""
    return Cell(f"{float(size.bytes):,.0f}", float(size.bytes), size.runtime_note)


COLUMNS = (
    Column("question", "question", left=True, value=lambda row: row.question.name),
    Column("stack", "stack", left=True, value=lambda row: row.contexts.stack),
    Column("suite", "suite", left=True, usual="tls13-rsa-aes256-many", value=lambda row: row.contexts.suite),
    Column("live_bytes", "live heap", value=lambda row: row.size(row.cost.opened, RUNTIME_NOTE), form=size_cell),
    Column("rss_bytes", "RSS", value=lambda row: row.size(row.cost.rss, GARBAGE_NOTE), form=rounded_cell),
    optional(Column("gained_bytes", "gained", value=lambda row: row.gained, form=fraction_cell)),
    optional(Column("kept_bytes", "not freed", value=lambda row: row.cost.kept, form=fraction_cell)),
    Column("holder", "held by", left=True, value=lambda row: row.holder, form=holder_cell),
)


def newest_of_each_stack(recordings: Iterable[Sequence[Record]]) -> list[Record]:
    """Return the scenario's runs of each stack and suite in the first of the recordings that has any.

    All are of one machine: that of the first such run. A recording without client contexts of one root, as one of the
    campaign certificates-contexts, counts only where no other is there."""
    found = [[run for run in records if run.scenario == SCENARIO] for records in recordings]
    found = [runs for runs in found if any(Case.from_record(run) == ONE_ROOT for run in runs)] or found
    machine = next((machine_identity(runs[0].machine) for runs in found if runs), None)
    kept: list[Record] = []
    for runs in found:
        known = {(run.stack, run.suite) for run in kept}
        kept += [
            run for run in runs if (run.stack, run.suite) not in known and machine_identity(run.machine) == machine
        ]
    return kept


def contexts_table(records: Sequence[Record]) -> Table:
    """A row a question and stack; without those that a stack cannot answer, each with the library's own words."""
    found = find_contexts(records)
    table = Table("contexts", "What one more context costs", f"{summarize(found)}{CAPTION}", list(COLUMNS))
    table.add_rows(row for row in list_rows(found) if not isinstance(row.cost.opened, Missing))
    table.without = list(dict.fromkeys(describe_refusals(found)))
    return table


def list_rows(found: Iterable[Contexts]) -> Iterator[Row]:
    """Yield the rows, question by question."""
    found = list(found)
    for question in QUESTIONS:
        for contexts in found:
            yield Row(question, contexts, question.answer(contexts))


def summarize(found: Sequence[Contexts]) -> str:
    """Return the answer of the first stack in one sentence, if it can be a release; nothing where it has none."""
    for contexts in sorted(found, key=lambda one: version(one.stack) == "system"):
        client, many, server = contexts.context("client"), contexts.context("client", 150), contexts.context("server")
        root, name = contexts.root(), contexts.name()
        costs = (client, many, root, server, name)
        answers = keep_present(cost.opened for cost in costs)
        if len(answers) == len(costs):
            one, all_roots, each, serving, named = (f"{float(answer):,.0f} B" for answer in answers)
            return (
                f"{stack_title(contexts.stack)}: one more client context takes {one} of live heap, with 150 CAs "
                f"{all_roots} ({each} for each CA); one more server context {serving}, one more name {named}. "
            )
    return ""


def describe_refusals(found: Iterable[Contexts]) -> Iterator[str]:
    """Yield a sentence for each stack and reason: what it cannot do, and why."""
    for contexts in found:
        for run in contexts.every_run:
            if run.status == "unsupported" and run.reason:
                yield f"{contexts.stack}: {strip_suite(run.reason).partition(': ')[2]}"
