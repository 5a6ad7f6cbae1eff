"""The OpenVINO engine: it runs saved graphs and needs no torch.

A pass takes all cores, so passes of several visitors wait for each other inside OpenVINO. That is as quick as running
them at the same time, and no answer depends on another.
"""

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import openvino
from numpy.typing import NDArray

from models.cancellation import go_on
from models.engine import FLOAT32, OPENVINO, Ids, Logits

ENCODER, STEP, SOURCE = "encoder", "step", "source"
"""The graphs of a model: an encoder with its head; a decoder's step; the source's keys and values for that step."""

_core = openvino.Core()


def rounds_quickly() -> bool:
    """Return whether this processor has instructions for bfloat16."""
    return "BF16" in _core.get_property("CPU", "OPTIMIZATION_CAPABILITIES")


class OpenVINOEngine:
    """An engine over the graphs in `folder`; `precision` is that of a decoder's weights or an encoder's arithmetic."""

    name = OPENVINO

    def __init__(self, folder: Path, precision: str) -> None:
        self.precision = precision
        self.bytes = sum(weights.stat().st_size for weights in folder.glob("*.bin"))
        # Only the weights of a decoder are in 16 bits: a rounding error in one step would grow in those that follow.
        self._graphs = {
            graph.stem: _compiled(graph, precision if graph.stem == ENCODER else FLOAT32)
            for graph in folder.glob("*.xml")
        }
        # Requests of the encoder for reuse, as many as calls ran at the same time.
        self._idle: list[openvino.InferRequest] = []

    def encode(self, inputs: Mapping[str, NDArray[Any]], places: Sequence[int] | None = None) -> tuple[Logits, ...]:
        """Run an encoder and its head over `inputs` `[row, token]`; return the logits, or start and end logits.

        After them come the mean vectors of a checkpoint that compares sentences (`outputs_of` in `pytorch.py`).

        With `places`, indices into `[row * token]`, only these are scored: the logits are `[place, vocabulary]`.
        """
        go_on()
        graph, ids = self._graphs[ENCODER], inputs["input_ids"]
        given = {"attention_mask": np.ones_like(ids), "token_type_ids": np.zeros_like(ids), **inputs}
        if places is not None:
            given["places"] = np.array(places, np.int64)
        try:
            request = self._idle.pop()
        except IndexError:
            request = graph.create_infer_request()
        names = [port.get_any_name() for port in graph.inputs]
        found = request.infer({name: given[name] for name in names}, share_inputs=True)
        logits = tuple(found[number].copy() for number in range(len(graph.outputs)))
        self._idle.append(request)
        return logits

    def start(self, source: Ids | None = None) -> "OpenVINOText":
        """Start a text for a decoder to write; `source` `[1, token]` is what an encoder-decoder translates."""
        looked_up: list[NDArray[np.float32]] = []
        if source is not None:
            go_on()
            graph = self._graphs[SOURCE]
            found = graph.create_infer_request().infer({"input_ids": source})
            looked_up = [found[port] for port in graph.outputs]
        return OpenVINOText(self._graphs[STEP].create_infer_request(), looked_up)


class OpenVINOText:
    """A text that a decoder reads and writes; `request` holds its KV cache, and its rows are the beams of a search."""

    def __init__(self, request: openvino.InferRequest, source: list[NDArray[np.float32]]) -> None:
        self._request = request
        self._source = source
        self._tokens = 0
        self._rows = 0
        self._order: NDArray[np.int32] | None = None

    def read(self, ids: Ids, wanted: int = 1) -> Logits:
        """Read `ids` `[row, token]` after what was read before.

        Returns the logits `[row * wanted, vocabulary]` of the next token after each of the last `wanted` ids of a row.
        """
        go_on()
        rows, tokens = ids.shape
        if rows != self._rows:
            self._rows = rows
            for number, each in enumerate(self._source):
                self._request.set_tensor(f"source.{number}", openvino.Tensor(np.repeat(each, rows, axis=0)))
        positions = np.arange(self._tokens, self._tokens + tokens, dtype=np.int64)
        self._tokens += tokens
        self._request.infer({
            "input_ids": ids,
            "position_ids": np.tile(positions, (rows, 1)),
            "places": np.arange(tokens - wanted, tokens, dtype=np.int64),
            "beam_idx": np.arange(rows, dtype=np.int32) if self._order is None else self._order,
        })  # fmt: skip
        self._order = None
        logits: Logits = self._request.get_tensor("logits").data.copy()
        return logits

    def reorder(self, rows: Sequence[int]) -> None:
        """Let row i continue the text of row `rows[i]`; rows may be repeated or dropped."""
        order = np.array(rows, dtype=np.int32)
        self._order = order if self._order is None else self._order[order]


def _compiled(graph: Path, precision: str) -> openvino.CompiledModel:
    # Only Linux says how many of the cores this process may use.
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    settings = {
        "INFERENCE_PRECISION_HINT": {"float32": "f32", "bfloat16": "bf16"}[precision],
        "KV_CACHE_PRECISION": "f32",
        "NUM_STREAMS": 1,
        "INFERENCE_NUM_THREADS": cores,
    }
    return _core.compile_model(graph, "CPU", settings)
