"""Save a trained checkpoint among the bundled ones, and write its model card."""

import json
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

import torch
from safetensors.torch import load_file, save_file
from transformers import PreTrainedModel, PreTrainedTokenizerBase

from models.loading.assembly import FINE_TUNED, WHOLE, wrap
from models.loading.prepared import sha256_of
from models.registry import REGISTRY
from models.tasks.base import AnyTaskModel

CHECKPOINTS = Path(__file__).parents[1] / "assets" / "checkpoints"


def save(network: PreTrainedModel, tokenizer: PreTrainedTokenizerBase, name: str) -> AnyTaskModel:
    """Save `network` in float16, and its tokenizer, as the checkpoint `name`; return the model that visitors then use.

    If the registry names the base that it was fine-tuned from, only the weights that differ from the base are saved.
    """
    folder, checkpoint = CHECKPOINTS / name, REGISTRY[name]
    shutil.rmtree(folder, ignore_errors=True)
    network.cpu().half().save_pretrained(folder)
    if checkpoint.base:
        shared, own = load_file(CHECKPOINTS / checkpoint.base / WHOLE), load_file(folder / WHOLE)
        same = [key for key in own if key in shared and torch.equal(own[key], shared[key])]
        save_file({key: own[key] for key in own if key not in same}, folder / FINE_TUNED, {"format": "pt"})
        (folder / WHOLE).unlink()
    save_tokenizer(tokenizer, folder)
    return wrap(checkpoint, folder, "")


def save_tokenizer(tokenizer: PreTrainedTokenizerBase, folder: Path) -> None:
    """Save `tokenizer` in `folder`, its `tokenizer.json` without indentation, which would be a third of it.

    The truncation and the padding of training are left out.
    """
    tokenizer.save_pretrained(folder)
    file = folder / "tokenizer.json"
    content = json.loads(file.read_text(encoding="utf-8")) | {"truncation": None, "padding": None}
    file.write_text(json.dumps(content, ensure_ascii=False, separators=(",", ":")) + "\n", encoding="utf-8")


@dataclass(frozen=True)
class Credit:
    """A data set that a checkpoint learned from, with its licence as its publisher states it."""

    name: str
    license: str


@dataclass(frozen=True)
class Card:
    """The content of the card of checkpoint `name`; figures are keyed by what was measured, unit included."""

    name: str
    task: str
    languages: tuple[str, ...]
    license: str
    what: str
    sources: tuple[Credit, ...]
    recipe: str
    figures: dict[str, float]
    limits: str
    base_model: str = ""


def commit() -> str:
    """The commit of the scripts, which a card names; raises `CalledProcessError` outside a checkout."""
    found = subprocess.run(
        ["git", "rev-parse", "--short=12", "HEAD"],  # noqa: S607 wherever it is installed
        cwd=Path(__file__).parent, capture_output=True, text=True, check=True,
    )  # fmt: skip
    return found.stdout.strip()


def render(card: Card, digests: dict[str, str], commit: str) -> str:
    """The card as Markdown with the Hub's YAML head."""
    head = ["---", f"license: {card.license}", f"language: {json.dumps(list(card.languages))}"]
    head += [f"pipeline_tag: {card.task}", "library_name: transformers"]
    if card.base_model:
        head.append(f"base_model: {card.base_model}")
    parts = ["\n".join([*head, "---"]), f"# {card.name}", card.what]
    parts += ["## Data", "\n".join(f"- {source.name}: {source.license}" for source in card.sources)]
    parts += ["## Recipe", card.recipe, f"Made by the scripts of commit `{commit}`."]
    if card.figures:
        rows = "\n".join(f"| {measured} | {value:.1f} |" for measured, value in card.figures.items())
        parts += ["## Figures", f"| measured | |\n|---|---|\n{rows}"]
    parts += ["## Limits", card.limits]
    parts += ["## Files", "\n".join(f"- `{name}`: sha256 `{digest}`" for name, digest in sorted(digests.items()))]
    return "\n\n".join(parts) + "\n"


def write_card(card: Card) -> None:
    """Write the card beside the weights, whose digests it states; the weights must be saved first."""
    folder = CHECKPOINTS / card.name
    digests = {file.name: sha256_of(file) for file in sorted(folder.glob("*.safetensors"))}
    (folder / "README.md").write_text(render(card, digests, commit()), encoding="utf-8")
