"""Of tasks side by side, the error that a caller knows is raised as itself."""

import asyncio

import pytest

from tlsmem.base.errors import raise_first


async def fail(error: Exception):
    raise error


async def run(*errors: Exception):
    with raise_first(KeyError, OSError):
        async with asyncio.TaskGroup() as group:
            for error in errors:
                group.create_task(fail(error))


def test_the_first_of_known_errors_is_raised_as_itself():
    first = OSError("first")
    with pytest.raises(OSError) as raised:
        asyncio.run(run(first, KeyError("second")))
    assert raised.value is first


def test_where_there_is_another_error_all_are_raised():
    with pytest.raises(ExceptionGroup) as raised:
        asyncio.run(run(OSError("known"), ZeroDivisionError("not known")))
    assert {type(error) for error in raised.value.exceptions} == {OSError, ZeroDivisionError}


def test_nothing_is_raised_where_nothing_is():
    asyncio.run(run())
