"""The dashboard for Grafana draws metrics that the app exports, by labels that they have, and is complete."""

import json
import re
from itertools import combinations
from typing import Any

import httpx
import pytest

from tests.api.server import ROOT, Server
from tests.web.calls import PATIENCE_S, called, cancel, outcome
from tests.web.conftest import AT_ONCE, PASSWORD

_DASHBOARD: dict[str, Any] = json.loads((ROOT / "deploy" / "grafana.json").read_text(encoding="utf-8"))
_PANELS: list[dict[str, Any]] = _DASHBOARD["panels"]
_DRAWN = [panel for panel in _PANELS if panel["type"] != "row"]
_EXPRESSIONS = [target["expr"] for panel in _DRAWN for target in panel["targets"]]
_OF_PROMETHEUS = {"instance", "le"}


def test_it_draws_metrics_that_the_page_gives_by_their_labels(quiet: Server) -> None:
    answered = called(quiet, "sentiment", ["A fine day.", ""], "one of many")
    assert outcome(quiet, "sentiment", answered)[0] == "complete"
    slow = ["Once upon a time, for the dashboard,", 100, "beam", 0.8, 50, 0.95, 8, 0, ""]
    *started, refused = [called(quiet, "completion", slow, "a greedy one") for _ in range(AT_ONCE + 1)]
    assert refused.status_code == 429
    for call in started:
        cancel(quiet, "completion", call, "a greedy one")
    text = httpx.get(f"{quiet.url}metrics", auth=("host", PASSWORD), timeout=PATIENCE_S).text
    labels: dict[str, set[str]] = {}
    for name, inside in re.findall(r"^(\w+)(?:\{(.*)\})? \S+$", text, re.MULTILINE):
        labels.setdefault(name, set()).update(re.findall(r'(\w+)="', inside))
    drawn = set()
    for expression in _EXPRESSIONS:
        (name,) = re.findall(r"clearhead_\w+", expression)
        drawn.add(name)
        used = re.findall(r"(\w+)!?=~?\"", expression)
        used += [each for group in re.findall(r"by \(([^)]*)\)", expression) for each in group.split(", ")]
        assert name in labels and set(used) <= labels[name] | _OF_PROMETHEUS, expression
        assert ("rate(" in expression) == name.endswith(("_total", "_bucket")), expression
    # What the page gives and the dashboard leaves out is drawn from the histograms, or by them.
    left_out = {"clearhead_run_duration_milliseconds"}
    left_out |= {f"clearhead_{kind}_seconds_{part}" for kind in ("run", "wait") for part in ("sum", "count")}
    assert labels.keys() - drawn == left_out


def test_it_reads_from_the_source_and_the_processes_that_are_chosen() -> None:
    variables = {each["name"]: each for each in _DASHBOARD["templating"]["list"]}
    assert variables.keys() == {"datasource", "instance"} and variables["datasource"]["type"] == "datasource"
    source = {"type": "prometheus", "uid": "${datasource}"}
    readers = [variables["instance"], *_DRAWN, *(target for panel in _DRAWN for target in panel["targets"])]
    assert all(each["datasource"] == source for each in readers)
    assert all("$instance" in each for each in _EXPRESSIONS)


def test_each_process_has_a_row_of_its_own() -> None:
    (repeated,) = [panel for panel in _PANELS if panel.get("repeat")]
    assert (repeated["type"], repeated["repeat"]) == ("row", "instance")
    # The panels after it belong to it, and are of one process.
    own = _PANELS[_PANELS.index(repeated) + 1 :]
    assert own and all('instance="$instance"' in target["expr"] for panel in own for target in panel["targets"])


def test_it_is_whole() -> None:
    ids = [panel["id"] for panel in _PANELS]
    assert len(set(ids)) == len(ids)
    assert all(panel["title"] for panel in _PANELS)
    places = [panel["gridPos"] for panel in _PANELS]
    assert all(place["x"] >= 0 and place["x"] + place["w"] <= 24 and place["h"] > 0 for place in places)
    for one, other in combinations(places, 2):
        beside = one["x"] + one["w"] <= other["x"] or other["x"] + other["w"] <= one["x"]
        assert beside or one["y"] + one["h"] <= other["y"] or other["y"] + other["h"] <= one["y"], (one, other)


@pytest.mark.parametrize("panel", _DRAWN, ids=lambda panel: panel["title"])
def test_its_units_are_those_of_its_metrics(panel: dict[str, Any]) -> None:
    units = {"s": ("_seconds",), "bytes": ("_bytes",), "reqps": ("_total",), "short": ("_runs", "_kept", "_shared")}
    for target in panel["targets"]:
        (name,) = re.findall(r"clearhead_\w+", target["expr"])
        assert name.removesuffix("_bucket").endswith(units[panel["fieldConfig"]["defaults"]["unit"]])
