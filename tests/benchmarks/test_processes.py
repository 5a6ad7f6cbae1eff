"""The benchmark of processes on a small scale: one kill while the database is down, and a restart of each process."""

import asyncio

import pytest

from benchmarks.nginx import WHY_NOT
from benchmarks.postgres import find_server
from benchmarks.processes import measure, site

pytestmark = [
    pytest.mark.skipif(bool(WHY_NOT), reason=WHY_NOT),
    pytest.mark.skipif(find_server() is None, reason="there is no PostgreSQL server here"),
]


def test_visitors_of_several_processes_lose_nothing_but_what_they_were_told_is_not_kept() -> None:
    with site(2, quick=True) as running:
        found = asyncio.run(measure(running, visitors=4, seconds=3, every_s=3, quick=True))
    assert found.kills == 1
    assert found.seen > found.seen_while_restarted > 0
    assert (found.missing, found.wrong, found.foreign) == (0, 0, 0)
    assert found.failures == {}
