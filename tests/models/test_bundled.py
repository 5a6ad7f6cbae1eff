"""The bundled checkpoints: transformers loads the same networks from them, and their cards are true."""

import re
from hashlib import sha256
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file
from transformers import AutoConfig, AutoTokenizer, PreTrainedModel

from models.registry import BUNDLED, REGISTRY, Checkpoint
from tests.models.architectures import AUTO
from tests.models.conftest import BundledModel

CHECKPOINTS = [checkpoint for checkpoint in REGISTRY.values() if not checkpoint.hub_id]
EVERY = pytest.mark.parametrize("checkpoint", CHECKPOINTS, ids=lambda checkpoint: checkpoint.name)
MB = 1_000_000


def plain(checkpoint: Checkpoint) -> PreTrainedModel:
    """The network as the model card says: transformers, and for what its file leaves out the weights of its base."""
    auto_model = AUTO[checkpoint.task]
    if not checkpoint.base:
        return auto_model.from_pretrained(checkpoint.folder, dtype=torch.float32).eval()
    network = auto_model.from_config(AutoConfig.from_pretrained(checkpoint.folder), dtype=torch.float32)
    base = load_file(BUNDLED / checkpoint.base / "model.safetensors")
    own = load_file(checkpoint.folder / "fine_tuned.safetensors")
    assert not network.load_state_dict(base | own, strict=False).missing_keys
    return network.eval()


@EVERY
def test_a_folder_holds_weights_tokenizer_and_card_and_nothing_that_runs(checkpoint: Checkpoint) -> None:
    names = {file.name for file in checkpoint.folder.iterdir()}
    assert names >= {"config.json", "tokenizer.json", "README.md"}
    assert ("fine_tuned.safetensors" if checkpoint.base else "model.safetensors") in names
    assert {Path(name).suffix for name in names} <= {".json", ".safetensors", ".md"}


def test_together_they_stay_small() -> None:
    sizes = {file: file.stat().st_size for file in BUNDLED.rglob("*") if file.is_file()}
    assert sum(size for file, size in sizes.items() if file.suffix == ".safetensors") <= 170 * MB
    assert sum(sizes.values()) <= 172 * MB
    assert max(sizes.values()) <= 50 * MB


@EVERY
def test_the_registry_knows_its_size(checkpoint: Checkpoint) -> None:
    size_mb = sum(file.stat().st_size for file in checkpoint.folder.iterdir()) / MB
    assert checkpoint.size_mb == pytest.approx(size_mb, abs=1)


@EVERY
def test_the_registry_knows_its_parameters(checkpoint: Checkpoint, bundled: BundledModel) -> None:
    # Marian's positions are sines and cosines, computed and not learned.
    learned = [
        parameter.numel()
        for name, parameter in bundled(checkpoint.name).network.named_parameters()
        if "embed_positions" not in name
    ]
    assert checkpoint.parameters == pytest.approx(sum(learned), rel=0.02)


@EVERY
def test_a_card_states_the_digest_of_the_weights(checkpoint: Checkpoint) -> None:
    card = (checkpoint.folder / "README.md").read_text(encoding="utf-8")
    for weights in checkpoint.folder.glob("*.safetensors"):
        assert sha256(weights.read_bytes()).hexdigest() in card
    revision = "fine_tuned.safetensors" if checkpoint.base else "model.safetensors"
    assert f"`{revision}`" in card


@EVERY
def test_a_card_says_what_it_learned_from_and_how_well(checkpoint: Checkpoint) -> None:
    card = (checkpoint.folder / "README.md").read_text(encoding="utf-8")
    assert re.search(r"^license: \S+$", card, re.MULTILINE)
    assert f"pipeline_tag: {checkpoint.task.value}" in card
    for heading in ("## Data", "## Recipe", "## Figures", "## Limits"):
        assert heading in card
    assert re.search("^Made by the scripts of commit `[0-9a-f]{12}`", card, re.MULTILINE)
    assert "More Information Needed" not in card


@EVERY
def test_no_file_names_a_place_on_the_machine_it_was_trained_on(checkpoint: Checkpoint) -> None:
    for file in checkpoint.folder.iterdir():
        if file.suffix in (".md", ".json") and file.name != "tokenizer.json":
            assert not re.search(r"/(work|home|root|tmp)/", file.read_text(encoding="utf-8")), file


@EVERY
def test_its_revision_is_the_start_of_the_weights_digest(checkpoint: Checkpoint, bundled: BundledModel) -> None:
    weights = checkpoint.folder / ("fine_tuned.safetensors" if checkpoint.base else "model.safetensors")
    assert sha256(weights.read_bytes()).hexdigest().startswith(bundled(checkpoint.name).identity.revision)


@EVERY
def test_its_network_is_transformers_own(checkpoint: Checkpoint, bundled: BundledModel) -> None:
    ours, theirs = bundled(checkpoint.name).network.state_dict(), plain(checkpoint).state_dict()
    assert ours.keys() == theirs.keys()
    assert all(torch.equal(each, theirs[name]) for name, each in ours.items())


@pytest.mark.parametrize(
    ("text", "label"),
    [("A warm, funny and moving film.", "positive"), ("A dull and pointless waste of two hours.", "negative")],
)
def test_sentiment_is_calibrated_as_its_configuration_says(text: str, label: str, bundled: BundledModel) -> None:
    network = plain(REGISTRY["clearhead-sentiment"])
    tokenizer = AutoTokenizer.from_pretrained(REGISTRY["clearhead-sentiment"].folder)
    with torch.inference_mode():
        logits = network(**tokenizer(text, return_tensors="pt")).logits[0]
    probabilities = (logits / network.config.calibration["temperature"]).softmax(-1)
    ours = bundled("clearhead-sentiment")(text=text)
    assert [each.score for each in ours.scores] == pytest.approx(probabilities.tolist(), abs=1e-4)
    assert ours.label == label
