"""Step 1 gives the pieces that the models themselves read, and BERT's input format."""

import json

import pytest
from transformers import AutoTokenizer

from models.errors import InputError
from models.inside.parameters import shape_of
from models.inside.tokens import tokenize
from models.registry import BUNDLED, REGISTRY
from tests.models.conftest import BundledModel

TEXTS = ("An unaffable robot, 3 days old.", "Ça va\u00a0? 日本 🤖", "word" * 40, "a [MASK]", "</s> [UNK] <|endoftext|>")
BUNDLED_ONES = [name for name, each in REGISTRY.items() if not each.hub_id]


@pytest.mark.parametrize("name", BUNDLED_ONES)
@pytest.mark.parametrize("text", TEXTS)
def test_pieces_are_those_that_the_checkpoint_reads(name: str, text: str, bundled: BundledModel) -> None:
    assert [piece.id for piece in tokenize(REGISTRY[name], text).pieces] == bundled(name).tokenizer.encode(text).ids


def test_the_three_ways_of_spelling_are_told_apart() -> None:
    text = "An unaffable robot"
    spelt = {
        read.scheme: [piece.piece for piece in read.pieces]
        for read in (tokenize(REGISTRY[name], text) for name in BUNDLED_ONES)
    }
    assert spelt == {
        "wordpiece": ["[CLS]", "an", "una", "##ffa", "##ble", "robot", "[SEP]"],
        "byte-level": ["An", "Ġun", "aff", "able", "Ġrobot"],
        "bpe": ["▁An", "▁un", "aff", "able", "▁rob", "ot", "</s>"],
    }


def test_a_pair_is_read_as_bert_was_trained_on_it() -> None:
    text = "[CLS] the man [MASK] to the store [SEP] penguin [MASK] are flightless birds [SEP]"
    tokenizer = AutoTokenizer.from_pretrained(BUNDLED / "clearhead-minilm")
    expected = tokenizer("the man [MASK] to the store", "penguin [MASK] are flightless birds")
    pieces = tokenize(REGISTRY["clearhead-minilm"], text, padding=2).pieces
    assert [piece.id for piece in pieces] == [*expected["input_ids"], 0, 0]
    assert [piece.segment for piece in pieces] == [*expected["token_type_ids"], 0, 0]
    assert [int(piece.attended) for piece in pieces] == [*expected["attention_mask"], 0, 0]
    marks = [piece.piece for piece in pieces if piece.special]
    assert marks == ["[CLS]", "[SEP]", "[SEP]", "[PAD]", "[PAD]"], "a mask stands for a word of the text"


def test_a_model_that_has_no_padding_piece_gets_none() -> None:
    assert all(piece.attended for piece in tokenize(REGISTRY["clearhead-stories"], "Once upon", padding=3).pieces)
    padded = tokenize(REGISTRY["clearhead-en-fr"], "Once upon", padding=3).pieces[-3:]
    assert {piece.piece for piece in padded} == {"<pad>"}


def test_nothing_but_marks_is_no_text() -> None:
    with pytest.raises(InputError, match="nothing but marks"):
        tokenize(REGISTRY["clearhead-minilm"], "[CLS] [SEP]")


@pytest.mark.parametrize("name", BUNDLED_ONES)
def test_the_shape_in_the_configuration_is_the_networks(bundled: BundledModel, name: str) -> None:
    config = bundled(name).network.config
    layers = config.encoder_layers if config.is_encoder_decoder else config.num_hidden_layers
    shape = shape_of(REGISTRY[name])
    assert (shape.layers, shape.heads, shape.width) == (layers, config.num_attention_heads, config.hidden_size)
    assert json.loads((BUNDLED / name / "config.json").read_text())["model_type"] == config.model_type
