"""Translators from before Transformers: their numbers are those of torch's LSTM, and repetitions are found."""

import numpy as np
import pytest
import torch

from models.before.translators import KINDS, ONE_VECTOR, THE_TRANSFORMER, TranslatorKind, figures, load, repeats
from models.errors import InputError
from models.loading.store import load_model
from models.outputs.before import TranslatorsOutput
from training import early_translators

SENTENCE = "A boy plays in the snow with his dog."


@pytest.fixture(scope="module")
def output() -> TranslatorsOutput:
    found = load_model("translators")(text=SENTENCE)
    assert isinstance(found, TranslatorsOutput)
    return found


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.key)
def test_what_is_written_and_where_it_looks_is_as_torch_has_it(kind: TranslatorKind) -> None:
    one, source = load(kind.key), [12, 800, 45, 7, 3001, 1]
    pieces = len(one.weights["vectors.weight"])
    network = early_translators.EarlyTranslator(pieces, 0, kind.key).eval()
    network.load_state_dict({name: torch.from_numpy(each) for name, each in one.weights.items()})
    found = one.translate(source, start=0, end=1, most=12)
    assert found.alignment.shape == ((0 if kind.key == ONE_VECTOR else len(found.ids)), len(source))
    with torch.inference_mode():
        read = torch.tensor([[0, *found.ids[:-1]]])
        logits = network.guess(network(torch.tensor([source]), read))[0]
        logits[:, 0] = -torch.inf
        assert logits.argmax(dim=1).tolist() == list(found.ids)
        states, state, cell = one.encode(source)
        encoded, (hidden, cells) = network.encoder(network.vectors(torch.tensor([source])))
        np.testing.assert_allclose(states, encoded[0], atol=1e-5)
        np.testing.assert_allclose(state, hidden.flatten(), atol=1e-5)
        np.testing.assert_allclose(cell, cells.flatten(), atol=1e-4)
        if kind.key != ONE_VECTOR:
            decoded, _ = network.decoder(network.vectors(read), (hidden.view(1, 1, -1), cells.view(1, 1, -1)))
            weights = network.scores(decoded, encoded).softmax(dim=2)[0]
            np.testing.assert_allclose(found.alignment, weights, atol=1e-4)


def test_five_translations_stand_in_the_order_of_their_years_with_what_each_looked_at(
    output: TranslatorsOutput,
) -> None:
    assert [row.key for row in output.rows] == [*(kind.key for kind in KINDS), THE_TRANSFORMER.key]
    assert [row.year for row in output.rows] == sorted(row.year for row in output.rows)
    for row in output.rows:
        assert row.text and row.bleu == figures()["figures"][row.key]["captions"]
        assert len(row.alignment) == (0 if row.key == ONE_VECTOR else len(row.tokens))
        for weights in row.alignment:
            assert len(weights) == len(output.tokens)
            assert sum(weights) == pytest.approx(1, abs=0.01)


def test_the_transformer_is_the_bundled_translator_with_the_weights_of_one_head(output: TranslatorsOutput) -> None:
    model = load_model("translation")
    inputs = model.inputs_type(text=SENTENCE, num_beams=1)
    plain, row = model.answer(inputs), output.rows[-1]
    assert row.text == plain.translations[0].text
    cross = model.attend(inputs, tuple(token.id for token in plain.target_tokens))["cross"]
    np.testing.assert_allclose(row.alignment, cross.weights[output.layer, output.head], atol=1e-4)


def test_all_four_learned_to_translate_and_attention_helps_more_as_sentences_grow() -> None:
    found = figures()["figures"]
    assert found[ONE_VECTOR]["captions"] >= 15
    for kind in KINDS[1:]:
        assert found[kind.key]["captions"] >= 30
        gains = [with_it - without for with_it, without in zip(
            found[kind.key]["by_length"], found[ONE_VECTOR]["by_length"], strict=True
        )]  # fmt: skip
        assert gains[-1] > gains[0]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Un garçon joue dans la neige garçon joue garçon joue.", ["garçon joue"]),
        ("Un un chien court.", ["un"]),
        ("Il va à la maison, à la maison.", ["à la maison"]),
        ("Nous nous lavons et vous vous lavez.", []),
        ("Le chat et le chien dorment.", []),
        ("", []),
    ],
)
def test_only_what_is_said_twice_in_a_row_counts_as_repeated(text: str, expected: list[str]) -> None:
    assert [text[start:end] for start, end in repeats(text)] == expected


@pytest.mark.parametrize("text", ["🦊", "שלום", "a\u0000b", "[MASK] </s> <pad>", "NO!!!", "1 2 3", "ﬁne", "x" * 40])
def test_any_text_that_is_short_enough_is_translated(text: str) -> None:
    rows = load_model("translators")(text=text).rows
    assert all(len(row.alignment) == len(row.tokens) for row in rows[1:])


@pytest.mark.parametrize(("text", "said"), [("", "empty"), ("word " * 80, "at most 64")])
def test_what_cannot_be_translated_is_refused_in_a_sentence(text: str, said: str) -> None:
    with pytest.raises(InputError, match=said) as refused:
        load_model("translators")(text=text)
    assert refused.value.field == "text"
