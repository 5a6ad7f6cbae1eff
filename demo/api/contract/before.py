"""The answers of models from before Transformers."""

from typing import TypedDict

from demo.api.contract.base import Answered, TokenScore


class GenerationAnswer(TypedDict):
    """One model's probability that the text praises, and the same for the changed text, if one was given.

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
    """One translator's text and its tokens; `year` and `paper` are those of its idea, `bleu` was measured on captions.

    `alignment[token][source]` are the weights of the source's tokens, empty for the translator without attention;
    `repeated` are the spans of characters, `[start, end]`, that repeat what stands just before them.
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
    """The tokens of a sentence, and its translations by earlier translators and, in the last row, by the Transformer.

    The weights in the last row are those of one head in one layer of cross-attention, both counted from 0.
    """

    tokens: list[str]
    rows: list[EarlyTranslation]
    layer: int
    head: int


class Cell(TypedDict):
    """A cell and its state after each character; what it `watches`, if that has a name, and their correlation."""

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
