"""Published weights that an installed Python package carries, so that no Hub is asked: found, and unpacked once.

`models/loading/prepared.py` keeps the folder that they are unpacked into, and has another process unpack them.
"""

from importlib.util import find_spec
from pathlib import Path

from models.registry import Checkpoint

PACKED = ".gguf"
_READER = "gguf"
"""The package that transformers reads such files with."""


def packaged(checkpoint: Checkpoint) -> Path | None:
    """The file of weights for `checkpoint`, where the package that carries it and its reader are installed."""
    package, _, name = checkpoint.package.partition("/")
    spec = find_spec(package) if package and find_spec(_READER) else None
    if spec is None or spec.origin is None:
        return None
    file = Path(spec.origin).parent / name
    return file if file.is_file() else None


def unpack(file: Path, folder: Path) -> None:
    """Write network (float32), tokenizer and settings in `file` to `folder`, as `save_pretrained` does."""
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer, GgufConfig

    options = {"gguf_file": file.name, "dtype": torch.float32, "quantization_config": GgufConfig(dequantize=True)}
    AutoModelForCausalLM.from_pretrained(file.parent, **options).save_pretrained(folder)
    AutoTokenizer.from_pretrained(file.parent, gguf_file=file.name).save_pretrained(folder)
