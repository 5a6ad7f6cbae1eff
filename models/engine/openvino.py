"""Answers computed by OpenVINO from saved graphs; torch is not needed.

A pass takes all cores, so passes of several visitors wait for each other inside OpenVINO. That is as quick as several
at the same time, and no answer depends on another.
"""

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import openvino
from numpy.typing import NDArray

from models.cancellation import go_on
from models.engine import Ids, Logits

NAME = "openvino"
ENCODER, STEP, SOURCE = "encoder", "step", "source"
"""The graphs of a model: an encoder with its head; a decoder's step; what an encoder-decoder's step looks up."""

_core = openvino.Core()


def rounds_quickly() -> bool:
    """Return whether this processor has instructions for bfloat16."""
    return "BF16" in _core.get_property("CPU", "OPTIMIZATION_CAPABILITIES")


def read_graphs(folder: Path, precision: str) -> "OpenVINOEncoder | OpenVINODecoder":
    """The engine over the graphs in `folder`, with weights or arithmetic of this `precision`."""
    encoder, step, source = (folder / f"{name}.xml" for name in (ENCODER, STEP, SOURCE))
    if encoder.exists():
        return OpenVINOEncoder(encoder, precision)
    return OpenVINODecoder(step, source if source.exists() else None, precision)


class OpenVINOEncoder:
    """An encoder with its head; `precision` is what its arithmetic is rounded to."""

    name = NAME
    shares_network = False

    def __init__(self, graph: Path, precision: str) -> None:
        self.precision = precision
        self.bytes = _weights_size(graph)
        self._compiled = _compiled(graph, precision)
        self._names = {port.get_any_name() for port in self._compiled.inputs}
        # One for each visitor who asks at the same time, used again and again.
        self._idle: list[openvino.InferRequest] = []

    def encode(self, inputs: Mapping[str, NDArray[Any]], places: Sequence[int] | None = None) -> tuple[Logits, ...]:
        """See `Engine`."""
        go_on()
        given = dict(inputs)
        given.setdefault("attention_mask", np.ones_like(given["input_ids"]))
        given.setdefault("token_type_ids", np.zeros_like(given["input_ids"]))
        if places is not None:
            given["places"] = np.array(places, np.int64)
        try:
            request = self._idle.pop()
        except IndexError:
            request = self._compiled.create_infer_request()
        found = request.infer({name: given[name] for name in self._names}, share_inputs=True)
        logits = tuple(found[number].copy() for number in range(len(self._compiled.outputs)))
        self._idle.append(request)
        return logits

    def start(self, source: Ids | None = None) -> "OpenVINOText":
        """Raises `TypeError`: an encoder writes nothing."""
        raise TypeError("an encoder writes nothing")


class OpenVINODecoder:
    """A decoder, and the encoder before it where there is one."""

    name = NAME
    shares_network = False

    def __init__(self, step: Path, source: Path | None, precision: str) -> None:
        self.precision = precision
        self.bytes = _weights_size(step) + (_weights_size(source) if source else 0)
        # An error of one step grows in those that follow, so only the weights are kept in 16 bits.
        self._step = _compiled(step, "float32")
        self._source = _compiled(source, "float32") if source else None

    def encode(self, inputs: Mapping[str, NDArray[Any]], places: Sequence[int] | None = None) -> tuple[Logits, ...]:
        """Raises `TypeError`: a decoder is read token by token."""
        raise TypeError("a decoder is read token by token")

    def start(self, source: Ids | None = None) -> "OpenVINOText":
        """See `Engine`."""
        if self._source is None or source is None:
            return OpenVINOText(self._step.create_infer_request(), [])
        go_on()
        found = self._source.create_infer_request().infer({"input_ids": source})
        return OpenVINOText(self._step.create_infer_request(), [found[port] for port in self._source.outputs])


class OpenVINOText:
    """A text with a request of its own, in which OpenVINO keeps its keys and values."""

    def __init__(self, request: openvino.InferRequest, source: list[NDArray[np.float32]]) -> None:
        self._request = request
        self._source = source
        self._tokens = 0
        self._rows = 0
        self._order: NDArray[np.int32] | None = None

    def read(self, ids: Ids, wanted: int = 1) -> Logits:
        """See `Text`."""
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
        """See `Text`."""
        order = np.array(rows, dtype=np.int32)
        self._order = order if self._order is None else self._order[order]


def _compiled(graph: Path, precision: str) -> openvino.CompiledModel:
    settings = {
        "INFERENCE_PRECISION_HINT": {"float32": "f32", "bfloat16": "bf16"}[precision],
        "KV_CACHE_PRECISION": "f32",
        "NUM_STREAMS": 1,
        "INFERENCE_NUM_THREADS": _cores(),
    }
    return _core.compile_model(graph, "CPU", settings)


def _cores() -> int:
    # Only Linux says how many of the cores this process may use.
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _weights_size(graph: Path) -> int:
    return graph.with_suffix(".bin").stat().st_size
