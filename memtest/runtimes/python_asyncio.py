"""A server on asyncio's streams, and its client: whatever CPython's event loop does for TLS by itself."""

import argparse
import asyncio

from python_program import (
    BACKLOG,
    answer_in_thread,
    make_answer,
    make_server_context,
    parse_options,
    read_length,
    split_address,
)


async def serve(options: argparse.Namespace) -> None:
    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while True:
                head = await reader.readuntil(b"\r\n\r\n")
                await reader.readexactly(read_length(head))
                writer.write(make_answer(head, options.full))
                await writer.drain()
        except (asyncio.IncompleteReadError, ConnectionError):
            writer.close()

    for address, context in ((options.plain, None), (options.tls, make_server_context(options))):
        waits = {"ssl_handshake_timeout": 3600.0} if context else {}
        await asyncio.start_server(answer, *split_address(address), ssl=context, backlog=BACKLOG, **waits)
    await asyncio.Event().wait()


if __name__ == "__main__":
    answer_in_thread()
    asyncio.run(serve(parse_options()))
