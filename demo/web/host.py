"""The routes for the host: probes of liveness and readiness, and, with a password, the host's page and metrics."""

import asyncio
import base64
import hashlib
import hmac
import html
import logging
import time
from collections.abc import Callable, Iterable, Sequence
from functools import cache

from anyio.to_thread import run_sync
from limits import RateLimitItemPerMinute
from prometheus_client import generate_latest
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, PlainTextResponse, Response
from starlette.routing import Route

from demo.runs import DemoService
from demo.web.metrics import Metrics
from demo.web.rate_limits import RateLimits
from demo.web.visitors import Visitors
from models.loading.assembly import FINE_TUNED, WHOLE
from models.loading.prepared import sha256_of
from models.loading.store import ModelStore
from models.registry import REGISTRY, Checkpoint

_log = logging.getLogger(__name__)
_WRONG_PASSWORDS = RateLimitItemPerMinute(10, namespace="wrong-passwords-by-caller")
_READY_FOR_S, _NOT_READY_FOR_S = 30.0, 2.0
_NO_STORE = {"Cache-Control": "no-store"}
_ASK = {"WWW-Authenticate": 'Basic realm="Clearhead, for its host", charset="UTF-8"'}
_STYLE = """
:root { color-scheme: light dark }
body { font: 16px/1.5 system-ui, sans-serif; max-width: 60rem; margin: 2rem auto; padding: 0 1rem }
table { border-collapse: collapse; margin: .5rem 0 2rem; font-variant-numeric: tabular-nums }
th, td { text-align: left; padding: .25rem 1.5rem .25rem 0; border-bottom: 1px solid #8885; overflow-wrap: anywhere }
"""


class Password:
    """The host's password: compared in constant time, and not at all for a caller who gave ten wrong ones in a minute.

    Wrong ones are counted by caller, so that a stranger cannot keep the host out.
    """

    def __init__(self, password: str, rate_limits: RateLimits) -> None:
        self._digest = _digest(password.encode())
        self._rate_limits = rate_limits
        self._turn = asyncio.Lock()

    async def refusal(self, authorization: str, caller: str) -> Response | None:
        """The answer for a caller who may not come in; None for the host."""
        # One at a time, so that of many guesses at once no more than ten are compared.
        async with self._turn:
            if met := await self._rate_limits.met((_WRONG_PASSWORDS, caller)):
                wait = {"Retry-After": str(met.wait_s)}
                return PlainTextResponse("Too many wrong passwords. Please wait a minute.", 429, _NO_STORE | wait)
            if hmac.compare_digest(_digest(_password_in(authorization)), self._digest):
                return None
            if authorization:
                await self._rate_limits.count((_WRONG_PASSWORDS, caller))
        return PlainTextResponse("This page is for the host.", 401, _NO_STORE | _ASK)


class Readiness:
    """Checks whether the database keeps runs and a bundled model answers, one check at a time.

    A good result is reused for half a minute, a bad one for two seconds; the reason of a bad one goes to the log.
    """

    def __init__(self, service: DemoService, clock: Callable[[], float] = time.monotonic) -> None:
        self._service = service
        self._clock = clock
        self._turn = asyncio.Lock()
        self._found: dict[str, bool] = {}
        self._until = float("-inf")

    async def __call__(self) -> dict[str, bool]:
        """Whether the `database` and a `model` work now, or did a moment ago."""
        async with self._turn:
            if self._clock() >= self._until:
                self._found = await run_sync(self._look)
                self._until = self._clock() + (_READY_FOR_S if all(self._found.values()) else _NOT_READY_FOR_S)
            return self._found

    def _look(self) -> dict[str, bool]:
        return {"database": _works(self._database_answers), "model": _works(self._service.model_answers)}

    def _database_answers(self) -> bool:
        self._service.history("nobody", most=1)
        return self._service.history_is_kept


def routes(
    ready: Readiness,
    metrics: Metrics,
    store: ModelStore,
    password: str | None,
    visitors: Visitors,
    rate_limits: RateLimits,
) -> list[Route]:
    """The routes for the host; without a password the host's page and the metrics are not among them."""

    async def healthz(_request: Request) -> Response:
        return PlainTextResponse("alive", headers=_NO_STORE)

    async def readyz(_request: Request) -> Response:
        found = await ready()
        return JSONResponse(found, 200 if all(found.values()) else 503, _NO_STORE)

    watched = [Route("/healthz", healthz), Route("/readyz", readyz)]
    if not password:
        return watched
    door = Password(password, rate_limits)

    async def refused(request: Request) -> Response | None:
        return await door.refusal(request.headers.get("authorization", ""), visitors.caller(request.scope))

    async def host(request: Request) -> Response:
        return await refused(request) or HTMLResponse(await run_sync(host_page, metrics, store), headers=_NO_STORE)

    async def numbers(request: Request) -> Response:
        return await refused(request) or PlainTextResponse(
            generate_latest(metrics.registry), headers=_NO_STORE, media_type="text/plain; version=0.0.4"
        )

    return [*watched, Route("/host", host), Route("/metrics", numbers)]


def host_page(metrics: Metrics, store: ModelStore) -> str:
    """Every metric and checkpoint as tables of an HTML page."""
    tables = []
    for family in metrics.registry.collect():
        if family.type == "histogram":
            # Its dozens of numbers only say more closely what the page has as the latency.
            continue
        rows = [(*each.labels.values(), _number(family.name, each.value)) for each in family.samples]
        names = [name.capitalize() for each in family.samples[:1] for name in each.labels]
        tables.append(table(family.documentation, [*names, "Value"], rows))
    checkpoints = [
        (name, "yes" if store.is_loaded(each) else "no", checksum(each) if not each.hub_id else each.revision)
        for name, each in REGISTRY.items()
        if not each.hub_id or store.is_loaded(each)
    ]
    tables.append(table("Checkpoints", ("Name", "Loaded", "sha256 of the weights, or revision"), checkpoints))
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8"><title>Clearhead, for its host</title>'
        f'<meta name="viewport" content="width=device-width"><style>{_STYLE}</style></head>'
        "<body><h1>Clearhead, for its host</h1><p>Counted since the start of this process.</p>"
        f"{''.join(tables)}</body></html>"
    )


def table(title: str, heads: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """An HTML table under its title; texts in it are escaped."""
    body = "".join(f"<tr>{''.join(f'<td>{html.escape(str(cell))}</td>' for cell in row)}</tr>" for row in rows)
    head = "".join(f"<th scope='col'>{html.escape(each)}</th>" for each in heads)
    body = body or "<tr><td>none</td></tr>"
    return f"<h2>{html.escape(title)}</h2><table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


@cache
def checksum(checkpoint: Checkpoint) -> str:
    """The sha256 of the weights of a bundled checkpoint."""
    for name in (FINE_TUNED, WHOLE):
        if (checkpoint.folder / name).exists():
            return sha256_of(checkpoint.folder / name)
    return "missing"


def _number(name: str, value: float) -> str:
    return f"{value / 1e6:,.0f} MB" if name.endswith("_bytes") else f"{value:,.0f}"


def _works(asked: Callable[[], bool]) -> bool:
    try:
        return asked()
    except Exception:
        _log.exception("not ready")
        return False


def _password_in(authorization: str) -> bytes:
    """The password in a Basic `Authorization` header, whatever the user's name; empty for any other header."""
    scheme, _, encoded = authorization.partition(" ")
    try:
        name_and_password = base64.b64decode(encoded, validate=True) if scheme.lower() == "basic" else b""
    except ValueError:
        return b""
    return name_and_password.partition(b":")[2]


def _digest(password: bytes) -> bytes:
    # Digests have one length, so comparing takes the same time however long the guess is.
    return hashlib.sha256(password).digest()
