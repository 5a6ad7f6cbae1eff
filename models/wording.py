"""English sentences for visitors, made where the visitor's language is unknown, and ready to be translated."""

from typing import Any


class Sentence(str):
    """An English sentence that keeps its template and values, so that the page can translate it.

    `template` is the sentence with its values in braces, as for `str.format`, and the key of its translation.
    """

    template: str
    values: dict[str, Any]

    def __new__(cls, template: str, /, **values: Any) -> "Sentence":
        """Fill `values` into `template`; without values, `template` may hold literal braces."""
        sentence = super().__new__(cls, template.format(**values) if values else template)
        sentence.template, sentence.values = str(template), values
        return sentence


def N_(sentence: str) -> str:  # noqa: N802
    """Return `sentence` unchanged: gettext's tools look for this name, and the page translates what it marks."""
    return sentence


def numbered(sentence: str) -> Sentence:
    """Rebuild the `Sentence` of a text such as “layer 3”, whose value, the last number, a log or a file has lost."""
    words, _space, number = sentence.rpartition(" ")
    return Sentence(f"{words} {{number}}", number=int(number)) if number.isdecimal() else Sentence(sentence)
