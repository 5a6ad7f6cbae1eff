"""Every published architecture as a tiny random model, saved as transformers saves it."""

from pathlib import Path
from typing import Any

import torch
from transformers import (
    AutoConfig,
    AutoModelForCausalLM,
    AutoModelForMaskedLM,
    AutoModelForQuestionAnswering,
    AutoModelForSeq2SeqLM,
    AutoModelForSequenceClassification,
    AutoModelForTokenClassification,
    PreTrainedModel,
)

from models.engine.pytorch import SENTENCE_VECTORS
from models.registry import Task
from models.tasks.sentence_pair import GROUPS
from tests.models.tiny_tokenizers import WINDOW, tiny_tokenizer

FITTING: dict[Task, tuple[str, ...]] = dict.fromkeys(Task, ()) | {
    Task.FILL_MASK: ("bert", "distilbert", "roberta", "albert", "electra", "modernbert"),
    Task.SENTIMENT: ("bert", "distilbert", "roberta", "albert", "electra", "xlnet"),
    Task.QUESTION_ANSWERING: ("bert", "distilbert", "roberta", "albert", "electra", "xlnet"),
    Task.NAMES: ("bert", "distilbert", "roberta", "albert", "electra", "xlnet", "modernbert"),
    Task.SENTENCE_PAIR: ("bert",),
    Task.TRANSLATION: ("marian", "t5", "bart"),
    Task.COMPLETION: ("gpt2", "openai-gpt", "llama"),
}
"""The architectures that each task is tried with; the other tasks are answered by these checkpoints, or by LSTMs."""

FAMILIES = {
    "BERT": "bert",
    "DistilBERT": "distilbert",
    "RoBERTa": "roberta",
    "ALBERT": "albert",
    "Marian": "marian",
    "T5": "t5",
    "GPT-2": "gpt2",
    "GPT": "openai-gpt",
    "ModernBERT": "modernbert",
    "Llama": "llama",
}
"""The architecture (transformers' `model_type`) of each family name of the registry."""

AUTO = {
    Task.FILL_MASK: AutoModelForMaskedLM,
    Task.SENTIMENT: AutoModelForSequenceClassification,
    Task.QUESTION_ANSWERING: AutoModelForQuestionAnswering,
    Task.NAMES: AutoModelForTokenClassification,
    Task.SENTENCE_PAIR: AutoModelForSequenceClassification,
    Task.TRANSLATION: AutoModelForSeq2SeqLM,
    Task.COMPLETION: AutoModelForCausalLM,
}

NAME_LABELS = ("O", "B-MISC", "I-MISC", "B-PER", "I-PER", "B-ORG", "I-ORG", "B-LOC", "I-LOC")

_BERT_LIKE = {"hidden_size": 16, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 32,
              "max_position_embeddings": WINDOW}  # fmt: skip
_ENCODER_DECODER = {"d_model": 16, "encoder_layers": 2, "decoder_layers": 2, "encoder_attention_heads": 2,
                    "decoder_attention_heads": 4, "encoder_ffn_dim": 32, "decoder_ffn_dim": 32,
                    "max_position_embeddings": WINDOW}  # fmt: skip
_SIZES: dict[str, dict[str, Any]] = {
    "bert": _BERT_LIKE,
    "electra": {**_BERT_LIKE, "embedding_size": 8},
    "albert": {**_BERT_LIKE, "embedding_size": 8},
    # RoBERTa's positions are counted from the one after its padding id.
    "roberta": {**_BERT_LIKE, "max_position_embeddings": WINDOW + 2, "type_vocab_size": 1},
    "distilbert": {"dim": 16, "n_layers": 2, "n_heads": 2, "hidden_dim": 32, "max_position_embeddings": WINDOW},
    "xlnet": {"d_model": 16, "n_layer": 2, "n_head": 2, "d_inner": 32},
    "marian": _ENCODER_DECODER,
    "bart": _ENCODER_DECODER,
    "t5": {"d_model": 16, "d_kv": 8, "d_ff": 32, "num_layers": 2, "num_heads": 2, "n_positions": WINDOW},
    "gpt2": {"n_embd": 16, "n_layer": 2, "n_head": 2, "n_positions": WINDOW},
    "openai-gpt": {"n_embd": 16, "n_layer": 2, "n_head": 2, "n_positions": WINDOW},
    # Six query heads, each two of which share keys and values; input and output embeddings are tied, as in SmolLM2.
    "llama": {
        **_BERT_LIKE,
        "hidden_size": 24,
        "num_attention_heads": 6,
        "num_key_value_heads": 3,
        "tie_word_embeddings": True,
    },
    # The second layer looks 3 tokens to either side.
    "modernbert": {**_BERT_LIKE, "hidden_size": 24, "local_attention": 6},
}


def save_tiny(model_type: str, task: Task, folder: Path, seed: int = 0) -> Path:
    """Save a random network of `model_type` with its tokenizer; the same seed gives the same weights."""
    tokenizer = tiny_tokenizer(model_type, folder)
    names = ("pad", "bos", "eos", *(("cls", "sep") if model_type == "modernbert" else ()))
    ids = {f"{name}_token_id": getattr(tokenizer, f"{name}_token_id", None) for name in names}
    if model_type == "openai-gpt":
        ids = {}
    if model_type in ("marian", "t5"):
        ids["decoder_start_token_id"] = tokenizer.pad_token_id
        ids["bos_token_id"] = None
    if model_type == "marian":
        ids["forced_eos_token_id"] = tokenizer.eos_token_id
    if model_type == "bart":
        ids["decoder_start_token_id"] = tokenizer.eos_token_id
        ids["forced_eos_token_id"] = tokenizer.eos_token_id
    if task is Task.SENTIMENT:
        ids["id2label"] = {0: "NEGATIVE", 1: "POSITIVE"}
    if task is Task.NAMES:
        ids["id2label"] = dict(enumerate(NAME_LABELS))
    if task is Task.SENTENCE_PAIR:
        ids |= {"id2label": dict(enumerate(label for group in GROUPS for label in group)), SENTENCE_VECTORS: True}
    config = AutoConfig.for_model(model_type, vocab_size=len(tokenizer), **_SIZES[model_type], **ids)
    torch.manual_seed(seed)
    network = spread(AUTO[task].from_config(config))
    if model_type == "marian":
        # As published: the start token is never written.
        network.generation_config.bad_words_ids = [[tokenizer.pad_token_id]]
    network.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


def spread(network: PreTrainedModel) -> PreTrainedModel:
    """The network with weights far enough apart that no two answers are nearly equal."""
    with torch.no_grad():
        for parameter in network.parameters():
            if parameter.dim() > 1:
                parameter.normal_(std=0.3)
    return network.eval()
