"""Saving a tokenizer beside its weights, in as few bytes as its file can have."""

import json
from pathlib import Path

from transformers import PreTrainedTokenizerBase


def save_tokenizer(tokenizer: PreTrainedTokenizerBase, folder: Path) -> None:
    """Save `tokenizer` in `folder`, its `tokenizer.json` without indentation: a third of it is spaces."""
    tokenizer.save_pretrained(folder)
    file = folder / "tokenizer.json"
    content = json.loads(file.read_text(encoding="utf-8"))
    file.write_text(json.dumps(content, ensure_ascii=False, separators=(",", ":")) + "\n", encoding="utf-8")
