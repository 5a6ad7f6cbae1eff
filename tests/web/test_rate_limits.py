"""Calls a minute are counted by visitor, in one process or in Redis for several; without Redis, the app goes on."""

import asyncio
import logging
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx
import pytest
from limits import RateLimitItemPerMinute
from redis import Redis as Client

from demo.settings import SettingError, Settings
from demo.web.admission import CALLER_FACTOR
from demo.web.host import Password
from demo.web.rate_limits import RateLimits, RecentVisitors, rate_limits
from tests.api.server import Server, serving
from tests.web.calls import PATIENCE_S, called, outcome, until
from tests.web.redis_server import Redis

_SECRET = "a secret of two processes"  # noqa: S105
_PASSWORD = "correct horse"  # noqa: S105
_THREE = RateLimitItemPerMinute(3, namespace="three")
_AGAIN = "Redis answers again"
_ALONE = "rate limits hold for this process alone"


def _shared(url: str) -> RateLimits:
    return rate_limits(Settings(limits_url=url, secret=_SECRET))


async def _let_in(limits: RateLimits, visitor: str = "a") -> bool:
    return not (await limits.met((_THREE, visitor)) or await limits.count((_THREE, visitor)))


async def _wait_s(limits: RateLimits, visitor: str) -> int:
    met = await limits.met((_THREE, visitor))
    return met.wait_s if met else 0


@pytest.mark.parametrize(("where", "a_minute_on"), [("here", 60.0), ("redis", 60.001)])
def test_a_visitor_may_start_so_many_a_minute_and_then_waits_for_the_oldest_to_pass(
    where: str, a_minute_on: float, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest
) -> None:
    now = [0.0]
    limits = RateLimits() if where == "here" else _shared(request.getfixturevalue("redis").url)
    monkeypatch.setattr(time, "time", lambda: now[0])

    async def minute() -> None:
        for second in range(3):
            now[0] = float(second)
            assert await _let_in(limits)
        assert await _wait_s(limits, "a") == 58 and await _wait_s(limits, "b") == 0
        now[0] = a_minute_on
        assert await _let_in(limits)
        assert await _wait_s(limits, "a") == 1

    asyncio.run(minute())


def test_made_up_visitors_take_bounded_memory_and_are_forgotten_after_a_minute(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    now = [0.0]
    monkeypatch.setattr(time, "time", lambda: now[0])
    storage = RecentVisitors()

    async def crowd() -> None:
        assert await storage.acquire_entry("who calls on", 50, 60)
        for number in range(25_000):
            now[0] = number / 1_000
            assert await storage.acquire_entry(f"made up {number}", 50, 60)
            if number % 1_000 == 0:
                assert await storage.acquire_entry("who calls on", 50, 60)
        assert len(storage.events) == 10_000
        # Made-up ones push out whoever is quiet, and nobody who goes on calling.
        assert (await storage.get_moving_window("who calls on", 50, 60))[1] == 26
        for _ in range(30):
            await storage.acquire_entry("who calls on", 50, 60)
        assert len(storage.events["who calls on"]) == 50
        now[0] = 90.0
        assert await storage.acquire_entry("the next one", 50, 60)
        assert list(storage.events) == ["the next one"]

    asyncio.run(crowd())


def test_calls_in_one_moment_in_several_processes_do_not_widen_the_limit(redis: Redis) -> None:
    async def moment() -> list[bool]:
        processes = [_shared(redis.url) for _ in range(4)]
        return await asyncio.gather(*(_let_in(each) for each in processes for _ in range(25)))

    assert sum(asyncio.run(moment())) == 3


def test_what_is_in_redis_is_numbers_for_a_minute(redis: Redis) -> None:
    assert asyncio.run(_let_in(_shared(redis.url), "a session that a client named \ud800"))
    client = Client.from_url(redis.url)
    (key,) = client.keys()
    assert key.startswith(b"clearhead:three/") and b"session" not in key
    assert 0 < client.ttl(key) <= 60


def test_of_many_guesses_at_once_ten_are_compared(redis: Redis) -> None:
    async def guesses() -> list[int]:
        door = Password("right", _shared(redis.url))
        answers = await asyncio.gather(*(door.refusal("Basic Ondyb25n", "a stranger") for _ in range(40)))
        # In another process, too, the door is closed now.
        answers.append(await Password("right", _shared(redis.url)).refusal("Basic OnJpZ2h0", "a stranger"))
        return [answer.status_code for answer in answers if answer]

    assert asyncio.run(guesses()) == [401] * 10 + [429] * 31


def test_without_redis_each_process_counts_for_itself_until_it_answers_again(
    redis: Redis, caplog: pytest.LogCaptureFixture
) -> None:
    now = [0.0]
    limits = _shared(redis.url)
    limits._clock = lambda: now[0]

    def said() -> list[str]:
        return [record.getMessage().split(":")[0].split(",")[0] for record in caplog.records]

    async def outage(goes: Callable[[], None], visitor: str) -> None:
        assert await _let_in(limits, "before") and limits.are_shared
        goes()
        assert all(await asyncio.gather(*(_let_in(limits, f"{visitor} {number}") for number in range(40))))
        assert [await _let_in(limits, visitor) for _ in range(4)] == [True] * 3 + [False]
        assert not limits.are_shared and said() == [_ALONE]
        redis.kill()
        now[0] += 10
        # It is asked again, and still away.
        assert not await _let_in(limits, visitor) and said() == [_ALONE]
        redis.start()
        assert not await _let_in(limits, visitor) and not limits.are_shared
        now[0] += 10
        assert await _let_in(limits, visitor) and limits.are_shared and said() == [_ALONE, _AGAIN]

    async def outages() -> None:
        await outage(redis.kill, "who calls when it is killed")
        caplog.clear()
        await outage(redis.hold, "who calls when it hangs")

    with caplog.at_level(logging.WARNING):
        asyncio.run(outages())


def test_a_redis_that_was_restarted_between_two_calls_is_asked_at_once(
    redis: Redis, caplog: pytest.LogCaptureFixture
) -> None:
    limits = _shared(redis.url)

    async def restart() -> None:
        assert await _let_in(limits)
        redis.kill()
        redis.start()
        assert await _let_in(limits) and limits.are_shared

    asyncio.run(restart())
    assert caplog.records == []


@pytest.mark.parametrize(
    ("url", "secret", "sentence"),
    [
        ("redis://localhost", None, "CLEARHEAD_LIMITS_URL needs CLEARHEAD_SECRET, the same in all processes"),
        ("memcached://localhost", _SECRET, "CLEARHEAD_LIMITS_URL must begin with redis:// or rediss://."),
        ("redis://:hidden@localhost:port/0", _SECRET, "CLEARHEAD_LIMITS_URL cannot be read"),
    ],
)
def test_a_url_that_cannot_be_used_is_said_to_the_host_without_its_password(
    url: str, secret: str | None, sentence: str
) -> None:
    with pytest.raises(SettingError) as error:
        rate_limits(Settings(limits_url=url, secret=secret))
    assert str(error.value).startswith(sentence) and "hidden" not in str(error.value)


def test_a_missing_client_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "redis.asyncio.retry", None)
    with pytest.raises(SettingError, match=r"requirements-redis\.txt"):
        _shared("redis://localhost")


@contextmanager
def _process(folder: Path, redis: Redis) -> Iterator[Server]:
    folder.mkdir()
    with serving(
        folder,
        CLEARHEAD_LIMITS_URL=redis.url,
        CLEARHEAD_SECRET=_SECRET,
        CLEARHEAD_HOST_PASSWORD=_PASSWORD,
        CLEARHEAD_RUNS_PER_MINUTE="1",
    ) as running:
        yield running


def _shares(server: Server) -> bool:
    said = httpx.get(f"{server.url}metrics", auth=("host", _PASSWORD), timeout=PATIENCE_S).text
    return "clearhead_limits_shared 1.0" in said.splitlines()


def test_who_used_up_the_minute_in_one_process_is_refused_in_another_and_nobody_when_redis_is_gone(
    redis: Redis, tmp_path: Path
) -> None:
    with _process(tmp_path / "one", redis) as one, _process(tmp_path / "other", redis) as other:
        for number in range(CALLER_FACTOR):
            assert called(one, "sentiment", ["", ""], f"session {number}").status_code == 200
        by_session = called(other, "sentiment", ["", ""], "session 0")
        by_caller = called(other, "sentiment", ["", ""], "session 10")
        assert [by_session.status_code, by_caller.status_code] == [429, 429]
        assert by_session.json()["detail"].startswith("One visitor may start 1 runs a minute. Please try again in ")
        said = by_caller.json()["detail"]
        assert said.startswith("All visitors at one address together may start 10 runs a minute. Please try again in ")
        assert f"again in {by_caller.headers['retry-after']} seconds" in said
        assert 1 < int(by_caller.headers["retry-after"]) <= 60

        redis.kill()
        assert called(other, "sentiment", ["", ""], "session 10").status_code == 200
        assert outcome(other, "session_runs", called(other, "session_runs", [], "a visitor who reads"))[0] == "complete"
        assert httpx.get(f"{other.url}readyz", timeout=PATIENCE_S).status_code == 200
        assert not _shares(other)
        redis.start()
        until(lambda: _shares(other), "Redis was not asked again")
        logged = other.output.read_text()
        assert logged.count(_ALONE) == logged.count(_AGAIN) == 1 and "Traceback" not in logged


def test_a_process_starts_without_its_redis_and_ends_quietly_with_it(redis: Redis, tmp_path: Path) -> None:
    redis.kill()
    with _process(tmp_path / "one", redis) as server:
        assert called(server, "sentiment", ["", ""], "somebody").status_code == 200
        redis.start()
        until(lambda: _shares(server), "Redis was not asked again")
        server.process.terminate()
        server.process.wait(timeout=30)
        logged = server.output.read_text().splitlines()[1:]
        assert len(logged) == 2 and _ALONE in logged[0] and _AGAIN in logged[1]
