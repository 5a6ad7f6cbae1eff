"""Only the store of models imports network libraries, since it waits where another thread has begun to.

A page begins when it starts; an import elsewhere would meet a `transformers` of which half is there.
"""

import subprocess
import sys

import pytest

_SETTING = """
import sys
from demo.looks import AttentionSource
from demo.caches import SessionCache
from demo.looks import Inspection
from demo.settings import Settings
from demo.looks import grow_tree
from demo.limits import Turns
from models.errors import InputError
from models.loading.store import ModelStore
from models.registry import Task

class Busy(ModelStore):
    def load(self, checkpoint, progress=None):
        raise InputError("The model is still being loaded.")

settings = Settings()
look = Inspection(settings, Busy(), Turns(), SessionCache(1_000))
source = AttentionSource(Task.COMPLETION, "clearhead-stories", (("prompt", "Once"),), (1, 2))
try:
    {asked}
except InputError as error:
    print(error.sentence, *(name for name in ("torch", "transformers") if name in sys.modules))
"""


@pytest.mark.parametrize(
    "asked",
    [
        "look.attention(source)",
        "look.attribution(source)",
        "look.ablate(source, 0)",
        "look.replace_token(source, 0, 'then')",
        "grow_tree(settings, Busy(), {'prompt': 'Once'}, '', print)",
    ],
)
def test_nothing_else_imports_a_network_library(asked: str) -> None:
    done = subprocess.run(  # noqa: S603
        [sys.executable, "-c", _SETTING.replace("{asked}", asked)], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "The model is still being loaded."
