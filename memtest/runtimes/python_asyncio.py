"""A server on asyncio's streams, and its client: whatever CPython's event loop does for TLS by itself."""

import argparse
import asyncio
from collections.abc import Coroutine
from typing import Any

from python_program import (
    BACKLOG,
    COMMANDS,
    answer_in_thread,
    make_answer,
    make_client_context,
    make_request,
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


class Client:
    """Connections to a server; each method is a command."""

    def __init__(self, options: argparse.Namespace) -> None:
        self.options, self.context = options, make_client_context(options)
        self.connections: list[tuple[asyncio.StreamReader, asyncio.StreamWriter]] = []

    async def connect(self, transport: str, count: str) -> dict[str, object]:
        """Open so many connections at once."""
        secure = {"ssl": self.context, "server_hostname": "localhost"} if transport == "tls" else {}
        address = self.options.tls if transport == "tls" else self.options.plain
        opening = (asyncio.open_connection(*split_address(address), **secure) for _ in range(int(count)))
        self.connections += await asyncio.gather(*opening)
        if transport == "plain":
            return {}
        used = self.connections[-1][1].get_extra_info("ssl_object")
        return {"protocol": used.version(), "cipher": used.cipher()[0]}

    async def ask(self, what: str) -> dict[str, object]:
        """Send a request on each connection, one after the other, and read the answer."""
        size = self.options.full if what == "full" else 0
        for reader, writer in self.connections:
            writer.write(make_request(size))
            await writer.drain()
            body = await reader.readexactly(read_length(await reader.readuntil(b"\r\n\r\n")))
            if len(body) != max(1, size):
                raise ValueError(f"an answer has {len(body)} bytes")
        return {}

    async def close(self) -> dict[str, object]:
        for _, writer in self.connections:
            writer.transport.abort()
        self.connections.clear()
        return {}


async def run_client(options: argparse.Namespace) -> None:
    """Carry commands from the thread that reads them into this loop."""
    client, loop = Client(options), asyncio.get_running_loop()

    def run(made: Coroutine[Any, Any, dict[str, object]]) -> dict[str, object]:
        return asyncio.run_coroutine_threadsafe(made, loop).result()

    COMMANDS["connect"] = lambda transport, count: run(client.connect(transport, count))
    COMMANDS["ask"] = lambda what: run(client.ask(what))
    COMMANDS["close"] = lambda: run(client.close())
    answer_in_thread()
    await asyncio.Event().wait()


if __name__ == "__main__":
    options = parse_options()
    if options.role == "client":
        asyncio.run(run_client(options))
    else:
        answer_in_thread()
        asyncio.run(serve(options))
