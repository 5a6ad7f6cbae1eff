"""Measure over HTTP how soon each endpoint that takes a text refuses one that is too long.

`python -m benchmarks.refusals` starts the app and sends each endpoint a text one character too long, 20 times, and then
ten megabytes. It prints the median and the longest time from the first byte sent to the sentence read, and the app's
CPU time for each call, which is the same on a busy machine.
"""

import json
import statistics
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial

import httpx
import psutil

from benchmarks.visitors import SETTINGS, UNHURRIED, served
from benchmarks.work import milliseconds
from demo.settings import Limits

MOST_MS = 50.0
TIMES = 20
LARGE = b'{"data": ["' + b"a" * 10_000_000 + b'"]}'
TEXT, PROMPT, CONTEXT = ("a" * (most + 1) for most in (Limits().text, Limits().prompt, Limits().context))
TOO_LONG = {
    "fill_mask": [TEXT, *SETTINGS["fill_mask"]],
    "sentiment": [TEXT, *SETTINGS["sentiment"]],
    "question_answering": ["Who?", CONTEXT, *SETTINGS["question_answering"]],
    "names": [TEXT, *SETTINGS["names"]],
    "translation": [TEXT, *SETTINGS["translation"]],
    "completion": [PROMPT, *SETTINGS["completion"]],
    "decode_tree": [PROMPT, 4, 12, "", 0.8, 50, 0.95, 0],
    "inside": [TEXT, 0, 0, -1, "", ""],
}
"""For each endpoint, the arguments of a call whose text is one character over the limit."""


@dataclass(frozen=True)
class RefusalTimes:
    """The median and the longest time of a refusal in ms, the app's CPU time for one, and its sentence."""

    what: str
    median_ms: float
    longest_ms: float
    processor_ms: float
    sentence: str


def refusal(client: httpx.Client, path: str, body: bytes) -> str:
    """The sentence that a call is refused with; raises `SystemExit` if it is not refused."""
    begun = client.post(path, content=body, headers={"content-type": "application/json"})
    if begun.status_code != 200:
        return str(begun.json()["detail"])
    for line in client.get(f"{path}/{begun.json()['event_id']}").text.splitlines():
        if line.startswith("data: ") and "error" in line:
            return str(json.loads(line.removeprefix("data: "))["error"])
    raise SystemExit(f"{path} was not refused")


def timed(client: httpx.Client, process: psutil.Process, what: str, path: str, body: bytes) -> RefusalTimes:
    """Time the same call `TIMES` times."""
    before = process.cpu_times()
    times = [milliseconds(partial(refusal, client, path, body)) for _ in range(TIMES)]
    after = process.cpu_times()
    used_ms = 1000 * (after.user + after.system - before.user - before.system) / TIMES
    return RefusalTimes(what, statistics.median(times), max(times), used_ms, refusal(client, path, body))


def measure() -> Iterator[RefusalTimes]:
    """Time each endpoint with a text that is too long, and with ten megabytes."""
    with served(settings=UNHURRIED) as page, httpx.Client(base_url=page.url, timeout=60) as client:
        for endpoint, data in TOO_LONG.items():
            path = f"gradio_api/call/{endpoint}"
            yield timed(client, page.process, endpoint, path, json.dumps({"data": data}).encode())
            yield timed(client, page.process, f"{endpoint}, 10 MB", path, LARGE)


def main() -> int:
    """Measure, print, and return 1 if a median is not below `MOST_MS`."""
    print(f"{'':<28}{'median ms':>10}{'longest':>10}{'processor':>10}")
    slow = 0
    for each in measure():
        slow += each.median_ms >= MOST_MS
        figures = f"{each.median_ms:>10.1f}{each.longest_ms:>10.1f}{each.processor_ms:>10.1f}"
        print(f"{each.what:<28}{figures}  {each.sentence[:50]}", flush=True)
    return 1 if slow else 0


if __name__ == "__main__":
    sys.exit(main())
