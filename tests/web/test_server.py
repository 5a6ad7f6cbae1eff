"""How the server listens."""

import asyncio
import socket

from demo.web.server import _listener


def test_small_parts_of_an_answer_are_sent_at_once() -> None:
    """Otherwise each waits until the visitor's side has confirmed the one before, some 40 ms later."""

    async def nodelay_of_an_answer() -> int:
        found: asyncio.Future[int] = asyncio.get_running_loop().create_future()

        def met(_reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            found.set_result(writer.get_extra_info("socket").getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY))
            writer.close()

        listener = _listener("127.0.0.1", [0])
        async with await asyncio.start_server(met, sock=listener):
            _, writer = await asyncio.open_connection(*listener.getsockname())
            try:
                return await found
            finally:
                writer.close()

    assert asyncio.run(nodelay_of_an_answer())
