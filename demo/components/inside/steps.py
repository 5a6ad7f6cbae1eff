"""The steps in their order. The tab shows those that are listed here, and no others."""

from demo.components.inside.step import Step
from demo.components.inside.tokens import TOKENS

STEPS: tuple[Step, ...] = (TOKENS,)
