"""The steps in their order. The tab shows those that are listed here, and no others."""

from demo.components.inside.block import BLOCK
from demo.components.inside.counting import COUNTING
from demo.components.inside.embeddings import EMBEDDINGS
from demo.components.inside.head import HEAD
from demo.components.inside.lens import LENS
from demo.components.inside.masking import MASKING
from demo.components.inside.step import Step
from demo.components.inside.tokens import TOKENS
from demo.components.inside.translation import TRANSLATION

STEPS: tuple[Step, ...] = (TOKENS, EMBEDDINGS, HEAD, MASKING, BLOCK, LENS, TRANSLATION, COUNTING)
