"""Attention equals what transformers returns with eager kernels, and shows only what the network could see."""

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
import torch
from transformers import PreTrainedModel

from models.outputs.writing import generated_ids
from models.registry import Task
from models.tasks.base import AnyTaskModel
from tests.models.architectures import AUTO, FITTING
from tests.models.conftest import TinyModel
from tests.models.plain import plain_tokenizer
from tests.models.test_ablation import FIELDS, Folder

ENCODERS = [
    (task, architecture)
    for task in (Task.FILL_MASK, Task.SENTIMENT, Task.QUESTION_ANSWERING, Task.NAMES)
    for architecture in FITTING[task]
]


def eager(task: Task, folder: Path) -> PreTrainedModel:
    """The network as plain transformers loads it, with kernels that return their weights."""
    return AUTO[task].from_pretrained(folder, attn_implementation="eager").eval()


def stacked(layers: tuple[torch.Tensor, ...]) -> np.ndarray:
    """`[layer, head, query, key]`."""
    return torch.stack(layers)[:, 0].numpy()


@pytest.mark.parametrize(("task", "architecture"), ENCODERS, ids=str)
def test_an_encoders_attention_is_transformers_own(
    task: Task, architecture: str, tiny: TinyModel, tiny_folder: Folder
) -> None:
    model, fields = tiny(architecture, task), FIELDS[task]
    texts = [fields.get("question"), fields["context"]] if "context" in fields else [fields["text"]]
    texts = [text.replace("[MASK]", model.tokenizer.settings.mask_token) for text in texts]
    with torch.inference_mode():
        plain = eager(task, tiny_folder(architecture, task, 0))(
            **plain_tokenizer(model)(*texts, return_tensors="pt"), output_attentions=True
        )
    (attention,) = model.attend(model.inputs_type(**fields)).values()
    np.testing.assert_allclose(attention.weights, stacked(plain.attentions), atol=1e-6)
    assert not attention.masked.any()


@pytest.mark.parametrize("architecture", FITTING[Task.COMPLETION])
def test_a_decoders_attention_is_transformers_own_and_never_looks_ahead(
    architecture: str, tiny: TinyModel, tiny_folder: Folder
) -> None:
    model, fields = tiny(architecture, Task.COMPLETION), FIELDS[Task.COMPLETION]
    output = model(**fields)
    ids = [*(token.id for token in output.tokens), *generated_ids(output)]
    with torch.inference_mode():
        plain = eager(Task.COMPLETION, tiny_folder(architecture, Task.COMPLETION, 0))(
            input_ids=torch.tensor([ids]), output_attentions=True
        )
    attention = model.attend(model.inputs_type(**fields), generated_ids(output))["decoder"]
    np.testing.assert_allclose(attention.weights, stacked(plain.attentions), atol=1e-6)
    ahead = np.triu(np.ones((len(ids), len(ids)), dtype=bool), k=1)
    assert (attention.masked == ahead).all()
    assert (attention.weights[:, :, ahead] == 0).all()
    assert [token.id for token in attention.query_tokens] == ids


@pytest.mark.parametrize("architecture", FITTING[Task.TRANSLATION])
def test_an_encoder_decoders_three_attentions_are_transformers_own(
    architecture: str, tiny: TinyModel, tiny_folder: Folder
) -> None:
    model, fields = tiny(architecture, Task.TRANSLATION), FIELDS[Task.TRANSLATION]
    written = generated_ids(model(**fields))
    start = model.network.generation_config.decoder_start_token_id
    with torch.inference_mode():
        plain = eager(Task.TRANSLATION, tiny_folder(architecture, Task.TRANSLATION, 0))(
            **plain_tokenizer(model)(fields["text"], return_tensors="pt"),
            decoder_input_ids=torch.tensor([[start, *written[:-1]]]),
            output_attentions=True,
        )
    attentions = model.attend(model.inputs_type(**fields), written)
    for kind in ("cross", "encoder", "decoder"):
        np.testing.assert_allclose(attentions[kind].weights, stacked(plain[f"{kind}_attentions"]), atol=1e-6)
    assert [token.id for token in attentions["decoder"].query_tokens] == [start, *written[:-1]]
    ahead = attentions["decoder"].masked
    assert (ahead == np.triu(np.ones_like(ahead), k=1)).all()


def test_attention_of_one_visitor_leaves_the_answers_of_others_alone(tiny: TinyModel) -> None:
    """The kernel is a setting of the whole network: a forward must not run while it is switched."""
    model: AnyTaskModel = tiny("gpt2", Task.COMPLETION)
    fields = FIELDS[Task.COMPLETION]
    expected = model(**fields)
    weights = model.attend(model.inputs_type(**fields), generated_ids(expected))["decoder"].weights

    def visit(number: int) -> bool:
        if number % 2:
            attentions = model.attend(model.inputs_type(**fields), generated_ids(expected))
            return bool(np.allclose(attentions["decoder"].weights, weights, atol=1e-6))
        return model(**fields).text == expected.text

    with ThreadPoolExecutor(8) as visitors:
        assert all(visitors.map(visit, range(60)))
