"""What models from before Transformers answer."""

from typing import TypedDict

from demo.api.contract.base import Answered, TokenScore


class GenerationAnswer(TypedDict):
    """One model's answer: the probability that the text praises, and, if a changed text was given, that this one does.

    `year` and `paper` are those of its idea; `accuracy` is in percent on sst2's development sentences, null for a
    checkpoint that was not measured on them.
    """

    name: str
    year: int
    paper: str
    parameters: int
    accuracy: float | None
    positive: float
    label: str
    changed_positive: float | None
    changed_label: str | None


class Generations(Answered):
    """The answer of each generation, the Transformer last; `unknown` are words that the earlier ones never learned."""

    rows: list[GenerationAnswer]
    unknown: list[str]


class EarlyTranslation(TypedDict):
    """What one translator wrote, with its tokens; `year` and `paper` are those of its idea, `bleu` is on captions.

    `alignment` has for each token of it the weights of the source's tokens, and is empty for the translator without
    attention; `repeated` are the characters, from and to, that say again what it has just said.
    """

    name: str
    year: int
    paper: str
    parameters: int
    bleu: float
    text: str
    tokens: list[str]
    alignment: list[list[float]]
    repeated: list[list[int]]


class EarlyTranslations(Answered):
    """A sentence, as its tokens, through earlier translators and the Transformer, which is the last row.

    Its weights are those of one head in one layer of cross-attention, counted from 0.
    """

    tokens: list[str]
    rows: list[EarlyTranslation]
    layer: int
    head: int


class Cell(TypedDict):
    """A cell and its state after each character; what it watches, if that has a name, and their correlation."""

    cell: int
    watches: str
    correlation: float | None
    states: list[float]


class Cells(Answered):
    """The named cells of a character model, then those asked for, with their states over the text as it was `read`.

    `unknown` are the characters that the model does not know, which it read as one sign; `guesses` are the likeliest
    characters after each one that was read.
    """

    model: str
    read: str
    unknown: list[str]
    cells: list[Cell]
    guesses: list[list[TokenScore]]
