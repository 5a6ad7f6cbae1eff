"""Only the store of models imports torch and transformers, since it waits for an import that another thread has begun.

The app begins that import at its start; an import elsewhere could meet a half-imported `transformers`.
"""

import subprocess
import sys

_ASKED = """
import sys
from demo.caches import SessionCache
from demo.limits import Turns
from demo.looks import AttentionSource, Inspection, grow_tree
from demo.settings import Settings
from models.backend import LocalBackend
from models.errors import InputError
from models.loading.store import ModelStore
from models.registry import Task

class Busy(ModelStore):
    def load(self, checkpoint, progress=None, task=None):
        raise InputError("The model is still being loaded.")

settings, busy = Settings(), LocalBackend(Busy())
look = Inspection(settings, busy, Turns(), SessionCache(1_000))
source = AttentionSource(Task.COMPLETION, "clearhead-stories", (("prompt", "Once"),), (1, 2))
for asked in (
    lambda: look.attention(source),
    lambda: look.attribution(source),
    lambda: look.ablate(source, 0),
    lambda: look.replace_token(source, 0, "then"),
    lambda: grow_tree(settings, busy, {"prompt": "Once"}, "", print),
):
    try:
        asked()
    except InputError as error:
        print(error.sentence, *(name for name in ("torch", "transformers") if name in sys.modules))
"""


def test_nothing_else_imports_a_network_library() -> None:
    done = subprocess.run([sys.executable, "-c", _ASKED], capture_output=True, text=True, check=True)  # noqa: S603
    assert done.stdout.splitlines() == ["The model is still being loaded."] * 5
