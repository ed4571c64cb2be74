"""What a page has of a table, as tables.js reads it."""

from tlsmem.report.packed_json import unpack_json
from tlsmem.report.table_html import text_of_values


def unpack(packed: str) -> dict:
    """Return the columns, the CSV and the notes of a packed table."""
    return unpack_json(packed)


def read_texts(packed: dict, at: int) -> list[str]:
    """Return what a column shows."""
    column = packed["columns"][at]
    if "texts" in column:
        return column["texts"]
    values = zip(*(packed["csv"][one]["values"] for one in column["of"]), strict=True)
    return [column["others"].get(str(row)) or text_of_values(one) or "" for row, one in enumerate(values)]
