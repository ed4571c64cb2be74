"""Tables that say only in what they differ from another: `like = "openssl@3.5.5"`. Standard library only."""


def resolve_tables(tables: dict) -> dict:
    """Every table with the keys of the one it is like, and of that one's; its own keys count.

    A table `expect` inherits key by key: from the table that it names by a `like` of its own, else from that of the
    table around it. Raises ValueError when a named table is not there, or goes back to itself."""
    expectations = {name: own_expectations(entry) for name, entry in tables.items()}
    resolved = {name: merged(name, tables) for name in tables}
    for name, entry in resolved.items():
        if isinstance(entry, dict) and isinstance(entry.get("expect"), dict):
            resolved[name] = {**entry, "expect": merged(name, expectations)}
    return resolved


def own_expectations(entry: object) -> dict:
    """What the table itself says in `expect`, and which table that inherits from."""
    if not isinstance(entry, dict):
        return {}
    own = entry.get("expect", {})
    return {key: entry[key] for key in ["like"] if key in entry} | (own if isinstance(own, dict) else {})


def merged(name: str, tables: dict) -> dict:
    entry = tables[name]
    last, seen = name, {name}  # not by recursion: a chain may be longer than Python's stack
    while isinstance(entry, dict) and isinstance(like := entry.get("like"), str):
        if like not in tables:
            raise ValueError(f"[{last}]: like: no table {like}")
        if like in seen:
            raise ValueError(f"[{last}]: like: {like} inherits from this table in turn")
        if not isinstance(tables[like], dict):
            raise ValueError(f"[{last}]: like: {like} is not a table")
        entry = {**tables[like], **{key: value for key, value in entry.items() if key != "like"}}
        last = like
        seen.add(like)
    return entry
