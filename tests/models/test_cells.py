"""Single cells: the states on the page are those of torch's LSTM, and the signals are what their names say."""

import numpy as np
import pytest
import torch
from torch import nn

from models.before import characters
from models.before.characters import ALPHABET, CODE, MODELS, PROSE, UNKNOWN, as_read, ids_of
from models.errors import InputError
from models.outputs.before import CellsOutput
from models.registry import CHARACTERS
from models.tasks.cells import Cells
from training.characters import correlations, signals_of

TEXTS = {
    PROSE: '"Come in," said the fox — “or stay out!” He waited (a long while); nobody came.\n\n',
    CODE: 'def f(x):\n\tif x:  # é\n        return [x, "a(b"]\n',
}


@pytest.fixture
def model() -> Cells:
    return Cells(CHARACTERS)


@pytest.mark.parametrize("name", MODELS)
def test_states_and_guesses_are_those_of_torch(name: str, model: Cells) -> None:
    loaded, output = characters.load(name), model(text=TEXTS[name] * 5, model=name)
    weights = {key: torch.tensor(each) for key, each in loaded.weights.items()}
    vectors = nn.Embedding.from_pretrained(weights["vectors.weight"])
    cell = nn.LSTM(vectors.embedding_dim, loaded.cells, batch_first=True)
    cell.load_state_dict({key[5:]: each for key, each in weights.items() if key.startswith("cell.")})
    states, logits = loaded.read(ids_of(output.read))
    carried = None
    with torch.inference_mode():
        for place, each in enumerate(ids_of(output.read).tolist()):
            hidden, carried = cell(vectors(torch.tensor([[each]])), carried)
            np.testing.assert_allclose(states[place], carried[1][0, 0].tanh(), atol=1e-5)
            found = hidden[0, 0] @ weights["guess.weight"].T + weights["guess.bias"]
            np.testing.assert_allclose(logits[place], found, atol=1e-4)
            likeliest = ALPHABET[int(found.argmax())]
            assert output.guesses[place][0].text == likeliest
            assert output.guesses[place][0].score == pytest.approx(float(found.softmax(0).max()), abs=1e-3)
    for watched in output.cells:
        np.testing.assert_allclose(watched.states, states[:, watched.cell], atol=1e-4)


def test_the_named_cells_come_first_and_others_as_they_are_asked_for(model: Cells) -> None:
    output = model(text="A fox.", cells=(399, 0, 399))
    named = [each["cell"] for each in characters.figures()[PROSE]["named"]]
    assert [each.cell for each in output.cells] == named + [each for each in (399, 0) if each not in named]
    assert len({each.cell for each in output.cells}) <= characters.figures()[PROSE]["nameable"] + 2


def test_a_text_is_read_in_the_characters_and_lines_that_the_model_knows(model: Cells) -> None:
    assert as_read("“naïve” – yes…\t", CODE) == f'"na{UNKNOWN}ve" - yes...    '
    output = model(text="\N{FOX FACE} says ünë")
    assert (output.read, output.unknown) == (f"{UNKNOWN} says {UNKNOWN}n{UNKNOWN}", ("\N{FOX FACE}", "ü", "ë"))
    words, long = "word " * 40, "x" * 200
    assert {len(line) for line in as_read(words, PROSE).split("\n")[:-1]} == {69}
    assert as_read(words, PROSE).replace("\n", " ") == as_read(words, CODE) == words
    assert as_read(f"{long} {long}\n{long}", PROSE) == f"{long}\n{long}\n{long}"


@pytest.mark.parametrize(
    ("fields", "field"),
    [
        ({"text": " \n"}, "text"),
        ({"text": 7}, "text"),
        ({"text": "x" * 1001}, "text"),
        ({"text": "x", "model": "verse"}, "model"),
        ({"text": "x", "cells": (400,)}, "cells"),
        ({"text": "x", "cells": (-1,)}, "cells"),
        ({"text": "x", "cells": tuple(range(21))}, "cells"),
    ],
)
def test_what_cannot_be_read_is_refused_in_its_field(model: Cells, fields: dict[str, object], field: str) -> None:
    with pytest.raises(InputError) as refused:
        model(**fields)
    assert refused.value.field == field


def test_signals_say_what_they_are_called() -> None:
    prose = signals_of('Ab "cd" (e)\n\n"f\n\ng', PROSE)
    assert prose["inside quotation marks"].tolist() == [0] * 3 + [1] * 3 + [0] * 7 + [1, 1] + [0] * 3
    assert prose["inside brackets"].tolist() == [0] * 8 + [1, 1] + [0] * 8
    assert prose["position in the word"].tolist()[:4] == [1, 2, 0, 0]
    assert prose["position in the line"].tolist()[-6:] == [0, 1, 2, 0, 0, 1]
    code = signals_of('  f(["]"]) # a\n x', CODE)
    assert code["indentation"].tolist() == [1] + [2] * 13 + [0, 1, 1]
    assert code["depth of brackets"].tolist() == [0] * 3 + [1] + [2] * 4 + [1] + [0] * 8
    assert code["inside a string"].tolist() == [0] * 5 + [1, 1] + [0] * 10
    assert code["inside a comment"].tolist() == [0] * 11 + [1] * 3 + [0] * 3
    # An escaped quotation mark and a docstring of two lines.
    assert signals_of('\'a\\\'b\' """c\nd"""', CODE)["inside a string"].sum() == 5 + 8


def test_a_correlation_is_pearsons_and_a_constant_cell_has_none() -> None:
    chance = np.random.default_rng(0)
    cells = chance.normal(size=(50, 3)).astype(np.float32)
    cells[:, 2] = 0.5
    signal = chance.normal(size=50)
    expected = [np.corrcoef(cells[:, place], signal)[0, 1] for place in range(2)]
    np.testing.assert_allclose(correlations(cells, signal), [*expected, 0], atol=1e-6)
    assert isinstance(Cells(CHARACTERS)(text="x"), CellsOutput)
