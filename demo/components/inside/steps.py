"""The steps in their order. The tab shows those that are listed here, and no others."""

from demo.components.inside.counting import COUNTING
from demo.components.inside.embeddings import EMBEDDINGS
from demo.components.inside.step import Step
from demo.components.inside.tokens import TOKENS
from demo.components.inside.translation import TRANSLATION

STEPS: tuple[Step, ...] = (TOKENS, EMBEDDINGS, TRANSLATION, COUNTING)
