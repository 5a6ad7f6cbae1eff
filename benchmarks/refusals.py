"""How soon is somebody refused who sends too much? Over HTTP, at every endpoint that takes a text.

`python -m benchmarks.refusals` starts the app and sends each endpoint a text one character too long, 20 times, and then
ten megabytes. It prints the median and the longest time from the first byte sent to the sentence read, and how much
processor time of the app each took, which is the same on a machine that is busy with other things.
"""

import argparse
import json
import statistics
import sys
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import httpx
import psutil

from benchmarks.load import app
from demo.settings import Limits

MOST_MS = 50.0
_TIMES = 20
_LIMITS = Limits()
_LARGE = b'{"data": ["' + b"a" * 10_000_000 + b'"]}'
_ANY = "1000000"


def too_long() -> dict[str, list[Any]]:
    """For each endpoint a call whose text has one character more than may be."""
    text, prompt = "a" * (_LIMITS.text + 1), "a" * (_LIMITS.prompt + 1)
    return {
        "fill_mask": [text, 5, "", ""],
        "sentiment": [text, ""],
        "question_answering": ["Who?", "a" * (_LIMITS.context + 1), 3, ""],
        "translation": [text, 4, ""],
        "completion": [prompt, 40, "sample", 0.8, 50, 0.95, 4, 0, ""],
        "decode_tree": [prompt, 4, 12, "", 0.8, 50, 0.95, 0],
        "inside": [text, 0, 0, -1, "", ""],
    }


@dataclass(frozen=True)
class Refused:
    """The median and the longest time that it took to refuse, the app's own time for one, and what was said."""

    what: str
    median_ms: float
    longest_ms: float
    processor_ms: float
    sentence: str


def _refusal(client: httpx.Client, path: str, body: bytes) -> str:
    """The sentence that a call is refused with; raises `SystemExit` for one that is not."""
    begun = client.post(path, content=body, headers={"content-type": "application/json"})
    if begun.status_code != 200:
        return str(begun.json()["detail"])
    for line in client.get(f"{path}/{begun.json()['event_id']}").text.splitlines():
        if line.startswith("data: ") and "error" in line:
            return str(json.loads(line.removeprefix("data: "))["error"])
    raise SystemExit(f"{path} was not refused")


def _timed(client: httpx.Client, process: psutil.Process, what: str, path: str, body: bytes) -> Refused:
    times, before = [], _used_s(process)
    for _ in range(_TIMES):
        started = time.perf_counter()
        sentence = _refusal(client, path, body)
        times.append((time.perf_counter() - started) * 1000)
    used_ms = (_used_s(process) - before) * 1000 / _TIMES
    return Refused(what, round(statistics.median(times), 1), round(max(times), 1), round(used_ms, 1), sentence)


def _used_s(process: psutil.Process) -> float:
    used = process.cpu_times()
    return float(used.user + used.system)


def measure() -> Iterator[Refused]:
    """Each endpoint with a text that is too long, and with ten megabytes."""
    free = dict.fromkeys(("CLEARHEAD_RUNS_PER_MINUTE", "CLEARHEAD_RUNS_AT_ONCE"), _ANY)
    with app(**free) as (url, process), httpx.Client(base_url=url, timeout=60) as client:
        for endpoint, data in too_long().items():
            path = f"gradio_api/call/{endpoint}"
            yield _timed(client, process, endpoint, path, json.dumps({"data": data}).encode())
            yield _timed(client, process, f"{endpoint}, 10 MB", path, _LARGE)


def main() -> int:
    """Measure, print, and return 1 where a median is above the most that it may be."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--json", type=Path, metavar="FILE", help="write everything to FILE as well")
    given = parser.parse_args()
    print(f"{'':<28}{'median ms':>10}{'longest':>10}{'processor':>10}")
    found = []
    for each in measure():
        found.append(each)
        figures = f"{each.median_ms:>10.1f}{each.longest_ms:>10.1f}{each.processor_ms:>10.1f}"
        print(f"{each.what:<28}{figures}  {each.sentence[:50]}", flush=True)
    if given.json:
        given.json.write_text(json.dumps([asdict(each) for each in found], indent=2) + "\n")
    return 0 if all(each.median_ms < MOST_MS for each in found) else 1


if __name__ == "__main__":
    sys.exit(main())
