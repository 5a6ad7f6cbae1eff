"""Imported by Python at start: refuses connections to other hosts, and reports each attempt on stderr."""

import socket
import sys
from typing import Any

_HERE = ("127.0.0.1", "::1", "localhost", "0.0.0.0", "", None)  # noqa: S104
_resolve = socket.getaddrinfo
_connect = socket.socket.connect


def resolve(host: Any, *args: Any, **kwargs: Any) -> Any:
    """`socket.getaddrinfo` for this machine only."""
    _refuse_unless_here(host)
    return _resolve(host, *args, **kwargs)


def connect(self: socket.socket, address: Any) -> None:
    """`socket.connect` to this machine only."""
    if isinstance(address, tuple):
        _refuse_unless_here(address[0])
    _connect(self, address)


def _refuse_unless_here(host: Any) -> None:
    if (host.decode() if isinstance(host, bytes) else host) not in _HERE:
        sys.stderr.write(f"asked for the outside: {host}\n")
        raise OSError("there is no outside")


socket.getaddrinfo = resolve
socket.socket.connect = connect  # type: ignore[method-assign, assignment]
