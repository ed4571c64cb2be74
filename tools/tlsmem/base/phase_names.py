"""Phases of a run, as pictures and pages say them, and in which order they come."""

READABLE_NAMES = {
    "sessions": "created",
    "payload": "1 KiB sent",
    "reply": "1 KiB back",
    "full payload": "16 KiB sent",
    "full reply": "16 KiB back",
    "blocked": "waiting in a read",
}
PEAK_OF = "peak of "  # and a phase: the moment within it at which a session held most


def recorded_name(phase: str) -> str:
    """Return the name in records of a phase that pages name, or of a peak of it; other names are returned
    unchanged."""
    if phase.startswith(PEAK_OF):
        return f"{PEAK_OF}{recorded_name(phase.removeprefix(PEAK_OF))}"
    return next((name for name, said in READABLE_NAMES.items() if said == phase), phase)


def order_key(phase: str) -> tuple[int | str, ...]:
    """Return a key that sorts phases: `sessions`, then client 1, server 1, client 2, ..., then all others."""
    role, _, step = phase.partition(" ")
    return (1, int(step), role) if step.isdecimal() else (0 if phase == "sessions" else 2,)


def is_before_established(phase: str) -> bool:
    """Whether sessions are still made in it: of windowed runs it then has some of them only."""
    return order_key(phase) < (2,)
