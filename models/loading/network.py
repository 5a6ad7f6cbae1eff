"""Networks of transformers, loaded safely from a folder of weights."""

from pathlib import Path

import torch
from transformers import (
    AutoConfig,
    AutoModelForCausalLM,
    AutoModelForMaskedLM,
    AutoModelForQuestionAnswering,
    AutoModelForSeq2SeqLM,
    AutoModelForSequenceClassification,
    PreTrainedModel,
)
from transformers.utils import logging as transformers_logging

from models.cancellation import LONGEST_LOAD_S, BoundedLock
from models.registry import Task

_CLASSES = {
    Task.FILL_MASK: AutoModelForMaskedLM,
    Task.SENTIMENT: AutoModelForSequenceClassification,
    Task.QUESTION_ANSWERING: AutoModelForQuestionAnswering,
    Task.TRANSLATION: AutoModelForSeq2SeqLM,
    Task.COMPLETION: AutoModelForCausalLM,
}

# While transformers loads, it patches torch for the whole process: a second load at the same time would be left with
# weights on its "meta" device.
_loading = BoundedLock(LONGEST_LOAD_S)


def load_network(task: Task, folder: Path, trunk: Path | None = None) -> PreTrainedModel:
    """The network of `folder` in float32, ready to answer; of an adapter folder, its `trunk` with the adapter merged.

    Its attention is computed in plain operations ("eager"), so that its weights can be seen.
    """
    auto_model = _CLASSES[task]
    options = {
        "use_safetensors": True, "dtype": torch.float32, "trust_remote_code": False, "attn_implementation": "eager",
    }  # fmt: skip
    # Loading reports and notes on unused heads would be news to the host on every start, and to nobody else.
    transformers_logging.set_verbosity_error()
    transformers_logging.disable_progress_bar()
    with _loading:
        if trunk is None:
            network: PreTrainedModel = auto_model.from_pretrained(folder, **options)
        else:
            from peft import PeftModel

            network = auto_model.from_pretrained(trunk, config=AutoConfig.from_pretrained(folder), **options)
            network = PeftModel.from_pretrained(network, folder).merge_and_unload()
    network.eval()
    network.requires_grad_(False)
    return network
