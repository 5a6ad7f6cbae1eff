"""Convert networks of transformers to OpenVINO graphs: an encoder with its head, or a decoder's step with KV cache.

The names of inputs and outputs here are those that `models/engine/openvino.py` uses. Conversion traces the network with
torch, so it runs in a process of its own (`models/loading/prepared.py`).
"""

import inspect
from pathlib import Path
from typing import Any

import numpy as np
import openvino
import torch
from openvino import opset13 as op
from openvino._offline_transformations import apply_make_stateful_transformation
from torch import Tensor, nn
from transformers import DynamicCache, EncoderDecoderCache, PreTrainedModel
from transformers.cache_utils import DynamicLayer

from models.engine.openvino import ENCODER, SOURCE, STEP
from models.engine.pytorch import outputs_of, scored_at

_HIDDEN = -1e9
"""Added to the score of a key that a query must not see; its softmax is 0."""

KeysAndValues = tuple[tuple[Tensor, Tensor], ...]
"""For each layer its keys and values, `[row, head, token, width]`."""


def save_graphs(network: PreTrainedModel, folder: Path, *, half: bool) -> None:
    """Write the graphs of `network` to `folder`, their weights in float16 where `half`, else in float32."""
    config = network.config
    if config.is_encoder_decoder:
        source = _graph(_Source(network), {"input_ids": torch.full((1, 5), 3)}, ["input_ids"])
        graphs = {SOURCE: source, STEP: _step_graph(network)}
    elif network.can_generate():
        graphs = {STEP: _step_graph(network)}
    else:
        graphs = {ENCODER: _encoder_graph(network)}
    for name, graph in graphs.items():
        openvino.save_model(graph, folder / f"{name}.xml", compress_to_fp16=half)


class _Traced(nn.Module):
    def __init__(self, network: PreTrainedModel) -> None:
        super().__init__()
        self.network = network


class _Encoder(_Traced):
    """An encoder with its head, as in `outputs_of`; with `places`, only the tokens there are scored."""

    def forward(
        self, input_ids: Tensor, attention_mask: Tensor, token_type_ids: Tensor | None = None,
        places: Tensor | None = None,
    ) -> tuple[Tensor, ...]:  # fmt: skip
        inputs = {"input_ids": input_ids, "attention_mask": attention_mask}
        if token_type_ids is not None:
            inputs["token_type_ids"] = token_type_ids
        if places is None:
            return outputs_of(self.network, inputs)
        with scored_at(self.network, places):
            return (self.network(**inputs).logits[0],)


class _Step(_Traced):
    """One step of a decoder: it reads ids after a past, and in an encoder-decoder the keys and values of its source."""

    def forward(
        self, input_ids: Tensor, position_ids: Tensor, places: Tensor, past: KeysAndValues,
        source: KeysAndValues | None = None,
    ) -> tuple[Tensor, ...]:  # fmt: skip
        """The logits `[row * place, vocabulary]`, then the keys and values of all tokens read so far."""
        tokens, before = input_ids.shape[1], past[0][0].shape[2]
        keys = torch.arange(before + tokens)[None]
        seen = keys <= (torch.arange(tokens) + before)[:, None]
        mask = torch.where(seen, 0.0, _HIDDEN)[None, None].expand(input_ids.shape[0], 1, -1, -1)
        cache: Any = _cache(past)
        if source is None:
            hidden = self.network.base_model(
                input_ids=input_ids, attention_mask=mask, position_ids=position_ids, past_key_values=cache,
                use_cache=True,
            ).last_hidden_state  # fmt: skip
        else:
            hidden = self._beside(source, input_ids, position_ids, mask, cache)
        logits = self.network.get_output_embeddings()(hidden[:, places].flatten(0, 1))
        bias = getattr(self.network, "final_logits_bias", None)
        if bias is not None:
            logits = logits + bias
        return logits, *(each for layer in cache.layers for each in (layer.keys, layer.values))

    def _beside(
        self, source: KeysAndValues, input_ids: Tensor, position_ids: Tensor, mask: Tensor, cache: DynamicCache
    ) -> Tensor:
        decoder = self.network.get_decoder()
        both = EncoderDecoderCache(cache, _cache(source))
        both.is_updated = dict.fromkeys(range(len(source)), True)
        # The keys and values of the source are known, so only the shape of its vectors is looked at.
        vectors = source[0][0].transpose(1, 2).flatten(2)
        # transformers counts positions from the length of the cache, which a trace would fix.
        hook = decoder.embed_positions.register_forward_pre_hook(
            lambda _module, given, named: (given, named | {"position_ids": position_ids}), with_kwargs=True
        )
        hidden: Tensor = decoder(
            input_ids=input_ids, attention_mask=mask, encoder_hidden_states=vectors, past_key_values=both,
            use_cache=True,
        ).last_hidden_state  # fmt: skip
        hook.remove()
        return hidden


class _Source(_Traced):
    """An encoder and, for each layer of the decoder, the keys and values that its cross-attention looks up."""

    def forward(self, input_ids: Tensor) -> tuple[Tensor, ...]:
        vectors = self.network.get_encoder()(input_ids=input_ids).last_hidden_state
        found = []
        for layer in self.network.get_decoder().layers:
            attention = layer.encoder_attn
            for project in (attention.k_proj, attention.v_proj):
                parts = project(vectors).view(*vectors.shape[:2], attention.num_heads, attention.head_dim)
                found.append(parts.transpose(1, 2))
        return tuple(found)


def _encoder_graph(network: PreTrainedModel) -> openvino.Model:
    understood = inspect.signature(network.forward).parameters
    ids = torch.full((2, 7), network.config.vocab_size // 2)
    mask = torch.ones_like(ids)
    mask[1, 5:] = 0
    example = {"input_ids": ids, "attention_mask": mask}
    if "token_type_ids" in understood:
        example["token_type_ids"] = torch.zeros_like(ids)
    if network.get_output_embeddings() is not None:
        example["places"] = torch.tensor([1, 8])
    return _graph(_Encoder(network), example, list(example))


def _step_graph(network: PreTrainedModel) -> openvino.Model:
    config = network.config
    if config.is_encoder_decoder:
        layers, heads, size = config.decoder_layers, config.decoder_attention_heads, config.d_model
    else:
        layers, heads, size = config.num_hidden_layers, config.num_attention_heads, config.hidden_size
    width = size // heads
    # Where several query heads share keys and values, these have fewer heads (grouped-query attention).
    heads = getattr(config, "num_key_value_heads", None) or heads

    def keys_and_values(tokens: int) -> KeysAndValues:
        one = torch.zeros(2, heads, tokens, width)
        return tuple((one, one) for _ in range(layers))

    example: dict[str, Any] = {
        "input_ids": torch.full((2, 3), 3),
        "position_ids": torch.arange(4, 7)[None].repeat(2, 1),
        "places": torch.tensor([2]),
        "past": keys_and_values(4),
    }
    past = [f"past.{number}" for number in range(2 * layers)]
    names = ["input_ids", "position_ids", "places", *past]
    if config.is_encoder_decoder:
        example["source"] = keys_and_values(5)
        names += [f"source.{number}" for number in range(2 * layers)]
    graph = _graph(_Step(network), example, names)
    for port in graph.inputs:
        if "." in port.get_any_name():
            port.get_node().set_partial_shape(openvino.PartialShape([-1, heads, -1, width]))
    outputs = ["logits", *(name.replace("past", "present") for name in past)]
    for port, name in zip(graph.outputs, outputs, strict=True):
        port.get_tensor().set_names({name})
    graph.validate_nodes_and_infer_types()
    _keep_inside(graph, past)
    return graph


def _keep_inside(graph: openvino.Model, past: list[str]) -> None:
    """Turn keys and values into the graph's own state; their rows are reordered by the input `beam_idx` `[row]`.

    See "Stateful models" in OpenVINO's documentation.
    """
    beams = op.parameter(openvino.PartialShape([-1]), openvino.Type.i32, name="beam_idx")
    beams.output(0).get_tensor().add_names({"beam_idx"})
    graph.add_parameters([beams])
    for name in past:
        port = graph.input(name)
        readers, reordered = port.get_target_inputs(), op.gather(port, beams, op.constant(0))
        for reader in readers:
            reader.replace_source_output(reordered.output(0))
    graph.validate_nodes_and_infer_types()
    apply_make_stateful_transformation(graph, {name: name.replace("past", "present") for name in past})
    # A state starts with no token and the rows of the first input; without an initial value it does not compile.
    rows = op.gather(op.shape_of(graph.input("input_ids"), output_type="i64"), op.constant([0]), op.constant(0))
    for node in graph.get_ops():
        if node.get_type_name() != "ReadValue":
            continue
        shape = node.get_output_partial_shape(0)
        others = [op.constant(np.array([size.get_length() if size.is_static else 0], np.int64)) for size in shape][1:]
        zero = op.constant(0.0, dtype=node.get_output_element_type(0))
        node.set_arguments([op.broadcast(zero, op.concat([rows, *others], axis=0))])
    graph.validate_nodes_and_infer_types()


def _graph(module: nn.Module, example: dict[str, Any], names: list[str]) -> openvino.Model:
    with torch.no_grad():
        graph = openvino.convert_model(module.eval(), example_input=example)
    for port, name in zip(graph.inputs, names, strict=True):
        port.get_tensor().set_names({name})
    return graph


def _cache(pairs: KeysAndValues) -> DynamicCache:
    """A cache filled with `pairs` by hand; one that transformers fills starts from tensors without axes."""
    cache = DynamicCache(config=None)
    for keys, values in pairs:
        layer: Any = DynamicLayer()
        layer.keys, layer.values, layer.is_initialized = keys, values, True
        layer.dtype, layer.device = keys.dtype, keys.device
        cache.layers.append(layer)
    return cache
