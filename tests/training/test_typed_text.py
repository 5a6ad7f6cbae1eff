"""The bundled tokenizers read pasted characters as the ones that training makes do."""

import json
from pathlib import Path

import pytest
from tokenizers import normalizers
from transformers import AutoTokenizer, BertTokenizer

from models.registry import BUNDLED
from training.bpe import byte_level_tokenizer, translation_tokenizer
from training.saving import save_tokenizer
from training.typed_text import reading_as_typed

TEXTS = ["A quiet street.", "Une rue calme."]


@pytest.mark.parametrize("name", ["minilm", "sentiment", "qa", "en-fr", "stories"])
def test_a_tokenizer_that_is_trained_anew_reads_text_as_the_bundled_one(name: str, tmp_path: Path) -> None:
    bundled = BUNDLED / f"clearhead-{name}"
    match name:
        case "en-fr":
            made = translation_tokenizer(TEXTS, vocab_size=300)
        case "stories":
            made = byte_level_tokenizer(TEXTS, vocab_size=300)
        case _:
            made = reading_as_typed(BertTokenizer(vocab=AutoTokenizer.from_pretrained(bundled).get_vocab()))
    save_tokenizer(made, tmp_path)
    ours, theirs = (json.loads((folder / "tokenizer.json").read_text("utf-8")) for folder in (tmp_path, bundled))
    parts = ("normalizer", "pre_tokenizer", "post_processor", "decoder", "added_tokens")
    assert {part: ours[part] for part in parts} == {part: theirs[part] for part in parts}
    again = AutoTokenizer.from_pretrained(tmp_path)
    assert isinstance(again.backend_tokenizer.normalizer, normalizers.Sequence)
    assert set(again("ﬁ")) == set(AutoTokenizer.from_pretrained(bundled)("ﬁ"))
