"""The host's page and the same numbers for Prometheus: everything a host may want to know, and no visitor."""

import html
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from demo.web.line import Line
from demo.web.metrics import INPUT, OURS, STOPPED, Metrics
from demo.web.state import bundled_checksums, database_bytes, memory_bytes
from models.loading.store import ModelStore
from models.registry import REGISTRY, Task

_STYLE = """
:root { color-scheme: light dark }
body { font: 16px/1.5 system-ui, sans-serif; max-width: 60rem; margin: 2rem auto; padding: 0 1rem }
table { border-collapse: collapse; margin: .5rem 0 2rem; font-variant-numeric: tabular-nums }
th, td { text-align: left; padding: .25rem 1.5rem .25rem 0; border-bottom: 1px solid #8885; overflow-wrap: anywhere }
code { font-size: .8rem }
"""


@dataclass(frozen=True)
class HostView:
    """Where the numbers come from."""

    metrics: Metrics
    line: Line
    store: ModelStore
    database_url: str
    history_is_kept: bool

    def page(self) -> str:
        """The page as HTML."""
        metrics, size = self.metrics, database_bytes(self.database_url)
        kept = "kept" if self.history_is_kept else "NOT kept: the database cannot be written"
        now = [
            ("Running since", f"{metrics.started_utc:%Y-%m-%d %H:%M} UTC"),
            ("Waiting, running", f"{self.line.waiting}, {self.line.running}"),
            ("Memory", _megabytes(memory_bytes())),
            ("Models in memory", f"{_megabytes(self.store.loaded_bytes)} of {_megabytes(self.store.max_bytes)}"),
            ("Database", f"{_megabytes(size) if size is not None else 'on its own server'}; runs are {kept}"),
        ]
        latencies = [(task, metrics.latency(task)) for task in Task]
        failures = [(each, metrics.total(each)) for each in (INPUT, OURS, STOPPED)]
        parts = [
            _table("Now", ("", ""), now),
            _table("Visits", ("Day", "Pages opened"), sorted(metrics.visits_by_day.items(), reverse=True)),
            _table("Runs", ("Day", "Task", "Outcome", "Runs"), metrics.table()),
            _table(
                "Latency",
                ("Task", "p50", "p95", "over the last"),
                [
                    (task.endpoint, f"{each.p50_ms:,.0f} ms", f"{each.p95_ms:,.0f} ms", each.count)
                    for task, each in latencies
                    if each
                ],
            ),
            _table("Failures", ("Because of", "Runs"), failures),
            _table("Limits hit", ("Limit", "Calls"), sorted(metrics.refusals.items())),
            _table("Checkpoints", ("Name", "Loaded", "sha256 of the weights"), self._checkpoints()),
        ]
        return (
            '<!doctype html><html lang="en"><head><meta charset="utf-8"><title>Clearhead, for its host</title>'
            f'<meta name="viewport" content="width=device-width"><style>{_STYLE}</style></head>'
            f"<body><h1>Clearhead, for its host</h1><p>Counted since the start of this process, in UTC.</p>"
            f"{''.join(parts)}</body></html>"
        )

    def prometheus(self) -> str:
        """The same in Prometheus' text format."""
        metrics, size = self.metrics, database_bytes(self.database_url)
        lines = [
            *_family("clearhead_visits_total", "counter", [({}, sum(metrics.visits_by_day.values()))]),
            *_family(
                "clearhead_runs_total",
                "counter",
                [({"task": task, "outcome": outcome}, count) for task, outcome, count in _by_task(metrics.table())],
            ),
            *_family("clearhead_refused_total", "counter", [({"limit": k}, n) for k, n in metrics.refusals.items()]),
            *_family(
                "clearhead_run_duration_milliseconds",
                "gauge",
                [
                    ({"task": task.endpoint, "quantile": share}, value)
                    for task in Task
                    if (latency := metrics.latency(task))
                    for share, value in (("0.5", latency.p50_ms), ("0.95", latency.p95_ms))
                ],
            ),
            *_family("clearhead_waiting_runs", "gauge", [({}, self.line.waiting)]),
            *_family("clearhead_running_runs", "gauge", [({}, self.line.running)]),
            *_family("clearhead_memory_bytes", "gauge", [({}, memory_bytes())]),
            *_family("clearhead_model_bytes", "gauge", [({}, self.store.loaded_bytes)]),
            *_family("clearhead_history_kept", "gauge", [({}, int(self.history_is_kept))]),
            *(_family("clearhead_database_bytes", "gauge", [({}, size)]) if size is not None else ()),
            *_family("clearhead_start_time_seconds", "gauge", [({}, metrics.started_utc.timestamp())]),
        ]
        return "\n".join(lines) + "\n"

    def _checkpoints(self) -> Iterable[tuple[str, str, str]]:
        checksums = bundled_checksums()
        for name, checkpoint in REGISTRY.items():
            loaded = self.store.is_loaded(checkpoint)
            if loaded or name in checksums:
                yield name, "yes" if loaded else "no", checksums.get(name, f"published, {checkpoint.revision}")


def _by_task(rows: Iterable[tuple[str, str, str, int]]) -> Iterable[tuple[str, str, int]]:
    totals: dict[tuple[str, str], int] = {}
    for _, task, outcome, count in rows:
        totals[task, outcome] = totals.get((task, outcome), 0) + count
    return [(*key, count) for key, count in sorted(totals.items())]


def _table(title: str, heads: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    body = "".join(f"<tr>{''.join(f'<td>{html.escape(str(cell))}</td>' for cell in row)}</tr>" for row in rows)
    head = "".join(f"<th scope='col'>{html.escape(each)}</th>" for each in heads)
    body = body or "<tr><td>none</td></tr>"
    return f"<h2>{title}</h2><table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def _family(name: str, kind: str, samples: Iterable[tuple[dict[str, str], float]]) -> Iterable[str]:
    yield f"# TYPE {name} {kind}"
    for labels, value in samples:
        told = ",".join(f'{key}="{each}"' for key, each in labels.items())
        yield f"{name}{{{told}}} {value:g}" if told else f"{name} {value:.17g}"


def _megabytes(size: int) -> str:
    return f"{size / 1e6:,.0f} MB"
