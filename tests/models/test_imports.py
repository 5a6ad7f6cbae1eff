"""Bundled models answer without importing torch and transformers, so that the first page need not wait for them."""

import subprocess
import sys

from benchmarks.visitors import INPUTS

NOT_NEEDED = ("torch", "transformers", "scipy", "openvino_telemetry")


def test_bundled_models_answer_without_torch_and_transformers() -> None:
    code = f"from models import load_model; [load_model(task)(**given) for task, given in {INPUTS!r}.items()]"
    code += f"; import sys; print(*(name for name in {NOT_NEEDED!r} if name in sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)  # noqa: S603
    assert done.stdout.strip() == ""


AT_ONCE = """
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier
from models import load_model
from models.loading import import_looks
from benchmarks.visitors import INPUTS

models = {task: load_model(task) for task in INPUTS}
together = Barrier(len(models) + 1)

def look(task):
    together.wait()
    model = models[task]
    return list(model.attend(model.inputs_type(**INPUTS[task]), (1, 2) if model.checkpoint.task.writes else ()))

with ThreadPoolExecutor(len(models) + 1) as pool:
    importing = pool.submit(lambda: (together.wait(), import_looks()))
    print(*(kind for kinds in pool.map(look, models) for kind in kinds))
    importing.result()
"""


def test_first_looks_of_several_visitors_at_once_see_whole_modules() -> None:
    done = subprocess.run([sys.executable, "-c", AT_ONCE], capture_output=True, text=True)  # noqa: S603
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == ["encoder"] * 5 + ["cross", "encoder", "decoder", "decoder"]
