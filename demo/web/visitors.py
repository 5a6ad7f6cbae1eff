"""Callers, for counting only: each address becomes a keyed number that changes every hour and is stored nowhere."""

import hmac
import ipaddress
import secrets
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from urllib.parse import urlsplit

import gradio as gr
from starlette.datastructures import Headers
from starlette.types import Scope

SESSION_HEADER = "x-clearhead-session"
"""The header that names a call's session to its endpoint, percent-encoded; Admission replaces what the caller sent."""

CALLER_HEADER = "x-clearhead-caller"
"""The header that names the caller of a tool in the call that the tool server makes for it."""

_KEPT_S = 3600.0
_NETWORK_BITS = 64
"""The bits of an IPv6 address that tell callers apart: a connection usually has all addresses that share these."""

_BY_A_PROXY = ("forwarded", "via", "x-forwarded-for", "x-forwarded-host", "x-real-ip")
"""The headers by which a proxy shows that it passes a call on."""


def is_this_machine(host: str) -> bool:
    """Whether an IP address or a host's name is one that only this machine reaches (a loopback address)."""
    try:
        return host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def is_from_this_machine(request: gr.Request) -> bool:
    """Whether a request comes from this machine, to its loopback address and through no proxy."""
    asked = urlsplit(f"//{request.headers.get('host', '')}").hostname or ""
    passed_on = any(name in request.headers for name in _BY_A_PROXY)
    return not passed_on and is_this_machine(request.client.host) and is_this_machine(asked)


class Visitors:
    """Turns addresses into numbers that tell callers apart and nothing else.

    The key of an hour is random and never leaves memory. Processes that count together derive it from the `secret` that
    they share: only with that can one test whether a number of this hour stands for an address.
    """

    def __init__(self, secret: str | None = None, clock: Callable[[], float] = time.time) -> None:
        self._secret = secret
        self._clock = clock
        self._own = secrets.token_bytes(32)
        self._hour, self._key = -1, b""

    def caller(self, scope: Scope) -> str:
        """The number of the caller of this call or, where the tool server sends it, of the tool's caller."""
        if tool_caller := self.tool_caller(scope):
            return tool_caller
        if (hour := int(self._clock() // _KEPT_S)) != self._hour:
            self._hour, self._key = hour, self._key_of(hour)
        network = _network((scope.get("client") or [""])[0])
        return hmac.digest(self._key, network.encode("utf-8", "replace"), "sha256").hex()[:24]

    def tool_caller(self, scope: Scope) -> str:
        """The number of a tool's caller, where the tool server sends this call; otherwise ""."""
        header = Headers(scope=scope).get(CALLER_HEADER, "")
        caller, _, _ = header.rpartition(".")
        return caller if caller and hmac.compare_digest(header.encode(), self.vouch(caller).encode()) else ""

    def _key_of(self, hour: int) -> bytes:
        if self._secret is None:
            return secrets.token_bytes(32)
        return hmac.digest(self._secret.encode(), b"callers of hour %d" % hour, "sha256")

    def vouch(self, caller: str) -> str:
        """The value of `CALLER_HEADER` for `caller`, which only this process can make."""
        return f"{caller}.{hmac.digest(self._own, caller.encode(), 'sha256').hex()}"


def _network(address: str) -> str:
    """The part of an address that tells callers apart: all of IPv4, the first 64 bits of IPv6."""
    try:
        parsed = ipaddress.ip_address(address)
    except ValueError:
        return address
    if parsed.version == 4:
        return str(parsed)
    return str(parsed.ipv4_mapped or ipaddress.ip_network((int(parsed), _NETWORK_BITS), strict=False))


def with_header(scope: Scope, name: str, value: str) -> Scope:
    """The scope with this header, in place of any header of that name that its caller sent."""
    others = [each for each in scope["headers"] if each[0] != name.encode()]
    return {**scope, "headers": [*others, (name.encode(), value.encode())]}


@contextmanager
def counted(counts: Counter[str], *keys: str) -> Iterator[None]:
    """Count one more of each of `keys` inside the block."""
    counts.update(keys)
    try:
        yield
    finally:
        counts.subtract(keys)
        for key in keys:
            if not counts[key]:
                del counts[key]
