"""How large a bundled checkpoint is, read from its configuration file alone: no network is loaded for it."""

import json
from functools import cache
from typing import Any

from models.inside.outputs import Shape
from models.registry import Checkpoint


def shape_of(checkpoint: Checkpoint) -> Shape:
    """The stack that reads the text: of an encoder-decoder, the encoder."""
    config = configuration(checkpoint)
    match config["model_type"]:
        case "gpt2":
            return Shape(config["n_layer"], config["n_head"], config["n_embd"])
        case "marian":
            return Shape(config["encoder_layers"], config["encoder_attention_heads"], config["d_model"])
        case _:
            return Shape(config["num_hidden_layers"], config["num_attention_heads"], config["hidden_size"])


@cache
def configuration(checkpoint: Checkpoint) -> dict[str, Any]:
    """The `config.json` of a bundled checkpoint."""
    config: dict[str, Any] = json.loads((checkpoint.folder / "config.json").read_text(encoding="utf-8"))
    return config
