"""What a comparison is told: aspects, meters, stages, and options that narrow it. Standard library only."""

ASPECTS = ("stack", "allocator", "compiler", "roles", "window", "cpu", "env", "suite")  # what --by tells sides apart by
NARROWED = ("suite", "allocator", "window", "roles", "env", "cpu")  # by options of these names, as of tabulate
ROLES = ("client", "server", "pair", "process")
ALL = "all"  # phases
PEAK = "peak"
STAGES = ("created", PEAK, "established", "reply", "idle", "closed")  # that are compared unless others are asked for
METERS: dict[str, str] = {  # meter to its unit
    "heap": "B",  # live bytes a session
    "blocks": "blocks",  # live blocks a session; at the peak those live at that moment
    "allocations": "blocks",  # allocated since `contexts` up to the end of the phase, a session, whatever was freed
    "rest": "B",  # tables of the library's own, of a process: what the larger run has more of than the smaller
    "rss": "B",  # a session: the slope over N; of roles together a pair: two sessions
    "peak-rss": "B",  # of the process, at an N
    "handshakes": "handshakes/s",  # of a role's own work
    "send": "MiB/s",
    "receive": "MiB/s",
}
UNCHANGED, NOTHING, CHANGED, SKIP = 0, 1, 3, 125  # exit statuses; SKIP: of git bisect, a commit that cannot be judged
BAD = 1  # of git bisect


class Usage(ValueError):
    """What was asked for cannot be."""
