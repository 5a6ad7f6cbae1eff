"""Sentences for visitors that are made where no visitor's language is known: English, and ready to be translated."""

from typing import Any


class Sentence(str):
    """An English sentence that remembers how it was made, so that the page can say it in another language.

    `template` is the sentence with its values in braces, as `str.format` reads it, and the key of its translation.
    """

    template: str
    values: dict[str, Any]

    def __new__(cls, template: str, /, **values: Any) -> "Sentence":
        """The sentence that `template` is with `values`; without any, `template` may hold braces of its own."""
        sentence = super().__new__(cls, template.format(**values) if values else template)
        sentence.template, sentence.values = str(template), values
        return sentence


def N_(sentence: str) -> str:  # noqa: N802
    """`sentence` itself, marked as one that is translated where it is shown; gettext's tools look for this name."""
    return sentence


def numbered(sentence: str) -> Sentence:
    """A sentence that ends in a number, such as “layer 3”, with the number apart, which a log or a file lost."""
    words, _space, number = sentence.rpartition(" ")
    return Sentence(f"{words} {{number}}", number=int(number)) if number.isdecimal() else Sentence(sentence)
