"""Importing lightly: less is imported, nothing is broken by it, and what was left out is there for who wants it."""

import os
import subprocess
import sys

import pytest

LEFT_OUT = ("torch._dynamo", "torch._inductor", "torch.distributed.tensor", "sympy", "peft", "scipy", "sklearn")


def told_by(code: str, **environment: str) -> str:
    """What a fresh process prints."""
    done = subprocess.run(  # noqa: S603
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, env={**os.environ, **environment}
    )
    return done.stdout.strip()


@pytest.mark.parametrize("task", ["fill_mask", "sentiment", "question_answering", "translation", "completion"])
def test_a_bundled_model_answers_without_what_is_left_out(task: str) -> None:
    answered = told_by(f"""
import sys
from benchmarks.inputs import INPUTS
from models.loading.store import load_model
load_model({task!r})(**INPUTS[{task!r}])
print(*(name for name in {LEFT_OUT!r} if name in sys.modules))
""")
    assert answered == ""


def test_transformers_knows_the_same_models_as_ever() -> None:
    listed = """
import transformers.models as known
print(*(hash(str(sorted((str(each), sorted(map(str, what))) for each, what in kept.items())))
        for kept in (known._import_structure, known._object_missing_backend)), len(known._modules))
print(hash(str(sorted(known._class_to_module.items()))))
"""
    light = "from models.loading.lightly import import_networks; import_networks()"
    assert told_by(light + listed, PYTHONHASHSEED="0") == told_by(listed, PYTHONHASHSEED="0")


def test_compilers_and_clusters_are_there_for_who_wants_them() -> None:
    assert (
        told_by("""
from models.loading.lightly import import_networks
import_networks()
import torch, torch._dynamo
from transformers.masking_utils import TransformGetItemToIndex
assert type(TransformGetItemToIndex()).__module__ == "torch._dynamo._trace_wrapped_higher_order_op"
assert torch.distributed.tensor.DTensor.__module__.startswith("torch.distributed.tensor")
assert not hasattr(torch.distributed, "no_such_part")
print(torch.compile(lambda x: x + 1, backend="eager")(torch.ones(1)).item())
""")
        == "2.0"
    )


def test_what_is_wanted_meanwhile_is_imported() -> None:
    assert (
        told_by("""
import torch
from models.loading.lightly import lightly
with lightly():
    print(torch._dynamo.is_compiling())
print(torch._dynamo.__file__.endswith("__init__.py"))
""")
        == "False\nTrue"
    )


@pytest.mark.parametrize(
    ("before", "environment"), [("import torch._dynamo", {}), ("", {"WORLD_SIZE": "1"})], ids=["imported", "cluster"]
)
def test_a_host_that_uses_them_keeps_them(before: str, environment: dict[str, str]) -> None:
    assert (
        told_by(
            f"{before}\n"
            "from models.loading.lightly import import_networks\n"
            "import_networks()\n"
            "from transformers.utils import is_torch_distributed_available\n"
            "print(is_torch_distributed_available())",
            **environment,
        )
        == "True"
    )


def test_an_import_beside_that_fails_is_tried_again_when_a_model_is_wanted() -> None:
    assert (
        told_by("""
import sys, threading
sys.modules["transformers"] = None
from models.loading.lightly import import_beside
import_beside()
next(thread for thread in threading.enumerate() if thread.name == "import networks").join()
del sys.modules["transformers"]
from models.loading.store import load_model
print(len(load_model("fill_mask")(text="Paris is [MASK].").predictions))
""")
        == "1"
    )


def test_the_search_for_rubbish_goes_on_afterwards() -> None:
    assert told_by(
        "import gc; from models.loading.lightly import import_networks; import_networks(); print(gc.isenabled())"
    ) == ("True")
