"""A pseudo-language for tests: every translated text is English in Hebrew letters, from right to left.

Latin letters on a page in it were not translated, and what stands on the wrong side was not mirrored.
"""

import json
import re
import string
from pathlib import Path

from babel.messages.catalog import Catalog
from babel.messages.pofile import write_po

from demo.language import LANGUAGES
from demo.language.catalogues import template
from demo.theme import ASSETS
from demo.walk.turning import PATCHES
from models.engine import BFLOAT16, FLOAT16, FLOAT32
from models.registry import CHARACTERS, REGISTRY, Task

CODE = "he"
_LETTERS = str.maketrans(dict(zip(string.ascii_lowercase, "אבגדהוזחטיכלמנסעפצקרשתםןףץ", strict=True)))
_LEFT = re.compile(r"(<[^>]*>|\{[^{}]*\}|&\w+;|\[[A-Z]+\])")
"""The parts that a translation leaves as they are: tags, placeholders, entities, and special tokens."""


def pseudo(sentence: str) -> str:
    """A sentence in the pseudo-language."""
    parts = _LEFT.split(sentence)
    return "".join(part if place % 2 else part.lower().translate(_LETTERS) for place, part in enumerate(parts))


_NAMES = (
    *(
        "Clearhead",
        "BERT-base",
        "BERT-large",
        "BERT",
        "GPT",
        "LSTM",
        "GRU",
        "ELMo",
        "tanh",
        CHARACTERS.title,
        "Python",
        "JSON",
        "CSV",
        "PNG",
        "HTML",
    ),
    *(name for each in REGISTRY.values() for name in (each.title, each.name, each.hub_id, each.family, each.license)),
    *(task.value for task in Task),
    *(BFLOAT16, FLOAT16, FLOAT32),
    *(f"{place}-{kind}" for place in "BI" for kind in ("person", "organisation", "place", "other")),
    *(name for code, name in LANGUAGES.items() if code != "en"),
)
"""Names that are the same in every language."""

_NAME = re.compile("|".join(re.escape(each) for each in sorted(filter(None, _NAMES), key=len, reverse=True)))
_EXAMPLES = [json.loads(file.read_text(encoding="utf-8")) for file in sorted((ASSETS / "examples").glob("*.json"))]
_OF_VISITORS = json.dumps(
    [
        document | {"examples": [each.get("fields") or each.get("request") for each in document["examples"]]}
        for document in _EXAMPLES
    ]
    + [list(PATCHES.values())],
    ensure_ascii=False,
).lower()
"""The words of visitors and models in the examples, which are not translated."""


def is_english(text: str) -> bool:
    """Whether a text on a page in the pseudo-language was not translated.

    Words of visitors and models are not translated, and may stand within a translated sentence.
    """
    # The words of a choice are numbered.
    left = re.sub(r"^\d+: ", "", _NAME.sub("", text).strip()).lower()
    return bool(re.search("[a-z]{2,}", left) and not re.search("[א-ת]", left) and left not in _OF_VISITORS)


def write_catalogue(folder: Path) -> None:
    """Write the catalogue of the pseudo-language, for `CLEARHEAD_LANGUAGES`."""
    catalog = Catalog(locale=CODE, fuzzy=False)
    for message in template():
        if not message.id:
            continue
        one, many = (message.id, message.id) if isinstance(message.id, str) else message.id
        plurals = (pseudo(one), *[pseudo(many)] * (catalog.num_plurals - 1))
        catalog.add(message.id, pseudo(one) if isinstance(message.id, str) else plurals, context=message.context)
    with (folder / f"{CODE}.po").open("wb") as file:
        write_po(file, catalog)
