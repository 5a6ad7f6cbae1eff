"""Measure what short windows cost: the completion model's perplexity on held-out text, by window length.

Windows do not overlap, as the step "Masked or not" of the tab Inside draws them, so that the first token of each is
predicted from one token alone. The texts are those that `stories.py` holds out of training: two children's books and
500 film reviews.
"""

import json
import math
from pathlib import Path

from transformers import AutoModelForCausalLM, AutoTokenizer

from evaluation.perplexity import losses
from training import stories
from training.cards import CHECKPOINTS
from training.text_generation import NAME

FILE = CHECKPOINTS.parent / "perplexity_by_window.json"
WINDOWS = (16, 32, 64, 128, 256)
CHARACTERS = 100_000
"""The number of characters that are read from the beginning of each text."""


def build(data: Path, _workdir: Path) -> None:
    """Measure every window on both texts and write the table."""
    books, reviews = stories.kept_out(stories.read_books(data), stories.read_reviews(data))
    texts = {"children’s books": books, "film reviews": reviews}
    tokenizer = AutoTokenizer.from_pretrained(CHECKPOINTS / NAME)
    model = AutoModelForCausalLM.from_pretrained(CHECKPOINTS / NAME, dtype="float32").eval()
    table = {}
    for name, documents in texts.items():
        text, rows = stories.BETWEEN_PARAGRAPHS.join(documents)[:CHARACTERS], []
        for window in WINDOWS:
            loss, tokens = losses(model, tokenizer, text, window, overlap=0)
            rows.append({"window": window, "perplexity": round(math.exp(loss / tokens), 1)})
            print(name, rows[-1], flush=True)
        table[name] = {"tokens": tokens, "rows": rows}
    FILE.write_text(json.dumps({"checkpoint": NAME, "texts": table}, indent=1) + "\n", encoding="utf-8")
