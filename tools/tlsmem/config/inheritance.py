"""Tables that say only in what they differ from another: `like = "openssl@3.5.5"`. Standard library only."""


def resolve_tables(tables: dict) -> dict:
    """Every table with the keys of the one it is like, and of that one's; its own keys count.

    ValueError when that one is not there, or goes back to itself."""
    return {name: merged(name, tables, ()) for name in tables}


def merged(name: str, tables: dict, seen: tuple[str, ...]) -> dict:
    entry = tables[name]
    if not isinstance(entry, dict) or not isinstance(entry.get("like"), str):
        return entry
    if (like := entry["like"]) not in tables:
        raise ValueError(f"[{name}]: like: there is no table {like}")
    if like in (*seen, name):
        raise ValueError(f"[{name}]: like: {like} is like this one in turn")
    return {**merged(like, tables, (*seen, name)), **{key: value for key, value in entry.items() if key != "like"}}
