"""What stands at the end of a campaign: its answer in sentences, and where its pictures and call stacks are."""

from collections.abc import Iterator, Sequence
from zlib import crc32

from tlsmem.config.campaigns import Campaign, TimedCampaign
from tlsmem.stats import process_tables, session_cost
from tlsmem.stats.live_heap import roles_and_processes
from tlsmem.stats.rss_line import rss_quantity
from tlsmem.stats.selection import Selection
from tlsmem.stats.series import Series, Setting
from tlsmem.stats.session_cost import C10K, KIB, MIB
from tlsmem.tables.settings import SETTING_ASPECTS, describe_window, processes_by_holder

UNIT = {"both": "a session pair", "client": "a client session", "server": "a server session"}
SESSIONS = {"both": "sessions", "client": "client sessions", "server": "server sessions"}
FEW = 3  # names in that of a directory
ROLE = {"both": "total"}  # of the heap, where it is not the holder


def title(name: str, asked: Campaign | TimedCampaign, usual: Campaign | TimedCampaign) -> str:
    """Of the pictures: the campaign's name, and what was asked for otherwise than its table has it."""
    if isinstance(asked, TimedCampaign):
        assert isinstance(usual, TimedCampaign)
        return "-".join([name, *timed_otherwise(asked, usual)])
    assert isinstance(usual, Campaign)
    parts = [name]
    if asked.peers and asked.peers != usual.peers:
        parts.append(f"{'+'.join(asked.peers)}-to-{'+'.join(asked.stacks)}")
    elif asked.roles != usual.roles:
        parts += asked.roles
    if asked.envs != usual.envs:
        parts.append("both" if len(asked.envs) > 1 else asked.envs[0])
    if asked.allocators != usual.allocators:
        parts += asked.allocators
    if asked.windows != usual.windows and not asked.roles[0].startswith("keep-"):
        parts += [f"window-{width}" for width in asked.windows]
    return "-".join(parts)


def timed_otherwise(asked: TimedCampaign, usual: TimedCampaign) -> Iterator[str]:
    if asked.allocators != usual.allocators:
        yield from asked.allocators
    if asked.cpus != usual.cpus:
        yield from asked.cpus
    for name in ("sizes", "threads"):
        if getattr(asked, name) != getattr(usual, name):
            yield "-".join([name, *map(str, getattr(asked, name))])
    for name in ("stacks", "suites"):
        if getattr(asked, name) != getattr(usual, name):
            yield several(name, getattr(asked, name))


def several(what: str, names: Sequence[str]) -> str:
    """All of them where they are few: no directory of pictures stands for two selections."""
    return "+".join(names) if len(names) <= FEW else f"{len(names)}-{what}-{crc32(' '.join(names).encode()):08x}"


def sentences(selection: Selection) -> Iterator[str]:
    """One for each setting, stack and holder of sessions of which anything is known."""
    for setting in selection.settings:
        for stack in selection.stacks:
            for holder, process in processes_by_holder(setting).items():
                if said := sentence(selection, selection.series(stack, setting, process), holder):
                    yield said


def sentence(selection: Selection, series: Series, holder: str) -> str | None:
    """`SUITE, STACK: a session pair keeps ... of live heap and ... resident; 10,000 sessions peak at ..., all
    handshakes at once`. With full records it is what a session in use keeps."""
    kept = list(filter(None, (live_heap(series, holder), resident(series, holder))))
    state = " in use" if series.setting.data == "full" else ""
    parts = [f"{UNIT[holder]}{state} keeps {' and '.join(kept)}"] if kept else []
    if (peak := peak_at_most(series)) and not series.setting.peer:
        at_once = describe_window(series.setting.window)
        parts.append(f"{C10K:,} {SESSIONS[holder]} peak at {peak}, {at_once}")
    return f"{where(selection, series)}: {'; '.join(parts)}" if parts else None


def where(selection: Selection, series: Series) -> str:
    setting: Setting = series.setting
    varying = [f"{field} {getattr(setting, field)}" for field in SETTING_ASPECTS if selection.varies(field)]
    ends = {series.stack, setting.peer or series.stack} - {series.owner}
    return ", ".join([setting.suite, " with ".join([series.owner, *ends]), *varying])


def choose_kept_phase(series: Series) -> str:
    """Return the phase at whose end a session is said to keep so much: in use, where it was used, else established."""
    return "blocked" if series.setting.data == "full" else "established"


def live_heap(series: Series, holder: str) -> str | None:
    pair = series.heap_pair()
    role = ROLE.get(holder, holder)
    if not pair or role not in roles_and_processes(series.setting):
        return None
    cost = session_cost.live_cost(*process_tables.remove_tables(pair), role, choose_kept_phase(series))
    return f"{cost.bytes} B of live heap"


def resident(series: Series, holder: str) -> str | None:
    """The slope of RSS, as the tables rss and roles have it: per pair, or per session of the role."""
    line = session_cost.fit_line(session_cost.medians(series.full("rss"), rss_quantity(choose_kept_phase(series))))
    return f"{2 * line.slope / KIB:,.1f} KiB resident" if line else None


def peak_at_most(series: Series) -> str | None:
    points = session_cost.medians(series.full("rss"), session_cost.peak_rss)
    found = session_cost.c10k({sessions // series.share: peak for sessions, peak in points.items()})
    return f"{found[0] / MIB:,.1f} MiB{'' if found[1] else ' (from the fit)'}" if found else None
