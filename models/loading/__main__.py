"""Prepare checkpoints for OpenVINO: `python -m models.loading` the bundled ones, where that was not done yet.

With arguments it prepares one folder of weights, or unpacks one file of them, for `models/loading/prepared.py`.
"""

import argparse
import os
from pathlib import Path

from models.engine import AUTO, EngineSettings, has_openvino
from models.loading.prepared import PACKED, prepare
from models.registry import REGISTRY, Task


def main() -> None:
    """Prepare what the arguments name or, without any, each bundled checkpoint that is not prepared yet."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("task", nargs="?", type=Task)
    parser.add_argument("weights", nargs="?", type=Path)
    parser.add_argument("to", nargs="?", type=Path)
    parser.add_argument("--trunk", type=Path)
    parser.add_argument("--half", action="store_true")
    given = parser.parse_args()
    if given.task is None:
        _prepare_bundled()
        return
    if hasattr(os, "nice"):
        # Visitors' runs come first.
        os.nice(5)
    if given.weights.suffix == PACKED:
        import torch
        from transformers import AutoModelForCausalLM, AutoTokenizer, GgufConfig

        folder, name = given.weights.parent, given.weights.name
        options = {"gguf_file": name, "dtype": torch.float32, "quantization_config": GgufConfig(dequantize=True)}
        AutoModelForCausalLM.from_pretrained(folder, **options).save_pretrained(given.to)
        AutoTokenizer.from_pretrained(folder, gguf_file=name).save_pretrained(given.to)
        return
    from models.engine.convert import save_graphs
    from models.loading.assembly import load_network
    from models.loading.description import save_description

    save_description(given.weights, given.to)
    save_graphs(load_network(given.task, given.weights, given.trunk), given.to, half=given.half)


def _prepare_bundled() -> None:
    """Prepare the bundled checkpoints for the engine and precision that the environment sets for the page."""
    if not has_openvino():
        print("OpenVINO is not installed: answers are computed by PyTorch.")
        return
    settings = EngineSettings(*(os.environ.get(f"CLEARHEAD_{name}", AUTO) for name in ("ENGINE", "PRECISION")))
    bundled = [each for each in REGISTRY.values() if not each.hub_id]
    for number, checkpoint in enumerate(bundled, start=1):
        print(f"\rPreparing bundled models: {number} of {len(bundled)}", end="", flush=True)
        prepare(checkpoint, checkpoint.folder, settings)
    print()


if __name__ == "__main__":
    main()
