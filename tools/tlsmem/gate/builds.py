"""The stacks that budgets name: resolved, where they are trees or commits; built, where they are not; and what the
baseline calls them."""

import contextlib
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path

from tlsmem.base.nearest import suggest_nearest
from tlsmem.base.paths import HEAP_METER, ROOT
from tlsmem.build import tree_files, trees
from tlsmem.build.commands import BuildFailed
from tlsmem.compare import two_builds
from tlsmem.config import definitions
from tlsmem.gate import budget_meters
from tlsmem.gate.budget import Budget, BudgetError, entry_name
from tlsmem.run.provenance import is_built


def resolve_budgets(budgets: Sequence[Budget], file: Path, git: Path | None) -> list[Budget]:
    """With names as records have them. A directory is from where the file is; `git` as building.trees has it.

    Raises BudgetError with a sentence where there is no such stack, or it cannot have what the budget is of."""
    texts = {text: absolute_tree(text, file.parent) for one in budgets for text in (one.stack, one.against) if text}
    found, made = clone(texts.values(), file.parent, git), []
    names: dict[str, str] = {}
    for one in budgets:
        try:
            if one.stack not in names:
                names[one.stack] = stack(texts[one.stack], found)
            name = names[one.stack]
            budget_meters.check_stack(name, definitions.stacks()[name], one.place)
            if one.against and trees.parse_request(one.against) and one.against not in names:
                names[one.against] = stack(texts[one.against], found, "against")
        except ValueError as error:
            raise BudgetError(f"{file}: {entry_name(one.number)}: {error}") from None
        against = one.against and names.get(one.against, one.against)
        made.append(one._replace(stack=name, against=against))
    return made


def stack(text: str, git: Path | None, key: str = "stack") -> str:
    try:
        return trees.resolve_stack(text, git)
    except ValueError as error:
        raise ValueError(f"{key}: {error}") from None


def clone(texts: Iterable[str], folder: Path, git: Path | None) -> Path | None:
    """Where commits are looked for: where the file is, unless elsewhere."""
    asked = [one for one in texts if "@git:" in one or "@path:" in one]
    return (trees.find_clone(asked, git) or tree_files.work_tree(folder)) if asked else None


def absolute_tree(text: str, folder: Path) -> str:
    asked = trees.parse_request(text)
    if not asked or asked.how != "path":
        return text
    return f"{asked.kind}@path:{folder / Path(asked.what).expanduser()}"


def build_needed(stacks: Iterable[str]) -> None:
    """Those that are not there, and trees, of which what has not changed is kept. Raises BuildFailed with a sentence
    for each that was not built."""
    if not (ROOT / HEAP_METER).is_file():
        raise BuildFailed(f"{HEAP_METER} is not there: run `make core` first")
    wanted = {name: name for name in stacks if name in definitions.registered_trees or not is_built(name)}
    if wanted:
        with contextlib.redirect_stdout(sys.stderr):
            two_builds.build(wanted)


def name_in_baseline(budget: Budget, file: Path, stacks: Iterable[str]) -> Budget:
    """With the name that the baseline has for its stack: its own, or of a tree the one other tree of the same kind."""
    there = list(dict.fromkeys(stacks))
    name, place = budget.against or budget.stack, f"{file}: {entry_name(budget.number)}"
    if name in there:
        return budget._replace(against=name)
    others = [one for one in there if one.startswith((f"{kind(name)}@git-", f"{kind(name)}@path-"))]
    if is_tree(name) and len(others) == 1:
        return budget._replace(against=others[0])
    near = suggest_nearest(name, there) or f"; there are: {', '.join(there)}"
    key = "against" if budget.against else "stack"
    way = "" if budget.against else "; against = says what the baseline calls it"
    raise BudgetError(f"{place}: {key}: no runs of {name} in the baseline{near}{way}")


def kind(name: str) -> str:
    return name.partition("@")[0]


def is_tree(name: str) -> bool:
    return name.partition("@")[2].startswith(("git-", "path-"))
