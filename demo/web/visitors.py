"""Callers, for counting only: a number that stands for an address, made anew each hour, and written nowhere."""

import hmac
import ipaddress
import secrets
import time
from collections.abc import Callable

from starlette.datastructures import Headers
from starlette.types import Scope

SESSION_HEADER = "x-clearhead-session"
"""Names the session of a call to its endpoint, percent-encoded; Admission sets it, whatever the caller sent."""

CALLER_HEADER = "x-clearhead-caller"
"""Names the caller of a tool in the call that the tool server makes in its place."""

_KEPT_S = 3600.0
_NETWORK_BITS = 64
"""How much of an IPv6 address is one caller's: whoever has a line has at least that many addresses to choose from."""


class Visitors:
    """Turns addresses into numbers that tell callers apart and nothing else; the key never leaves memory."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._own = secrets.token_bytes(32)
        self._key = secrets.token_bytes(32)
        self._made_at = clock()

    def caller(self, scope: Scope) -> str:
        """The number of whoever sends this call, or in whose place the tool server sends it."""
        address = scope.get("client")
        return self.tool_caller(scope) or self._number(address[0] if address else "")

    def tool_caller(self, scope: Scope) -> str:
        """The number of whoever called a tool, where the tool server sends this call; otherwise ""."""
        header = Headers(scope=scope).get(CALLER_HEADER, "")
        caller, _, _ = header.rpartition(".")
        return caller if caller and hmac.compare_digest(header.encode(), self.vouch(caller).encode()) else ""

    def vouch(self, caller: str) -> str:
        """The value of `CALLER_HEADER` for `caller`, which only this process can make."""
        return f"{caller}.{hmac.digest(self._own, caller.encode(), 'sha256').hex()}"

    def _number(self, address: str) -> str:
        if self._clock() - self._made_at > _KEPT_S:
            self._key, self._made_at = secrets.token_bytes(32), self._clock()
        return hmac.digest(self._key, _network(address).encode("utf-8", "replace"), "sha256").hex()[:24]


def _network(address: str) -> str:
    """The part of an address that tells callers apart: all of IPv4, the first 64 bits of IPv6."""
    try:
        parsed = ipaddress.ip_address(address)
    except ValueError:
        return address
    if parsed.version == 4:
        return str(parsed)
    return str(parsed.ipv4_mapped or ipaddress.ip_network((int(parsed), _NETWORK_BITS), strict=False))
