"""The completion model: made, grown by two layers, trained by Muon beside AdamW, and rounded to whole steps."""

from pathlib import Path

import torch
from torch import Tensor, nn
from transformers import (
    AutoTokenizer,
    BertModel,
    GenerationConfig,
    GPT2Config,
    GPT2LMHeadModel,
    PreTrainedModel,
    PreTrainedTokenizerFast,
)
from transformers.pytorch_utils import Conv1D


def muon_and_adamw(
    model: PreTrainedModel,
    muon_rate: float,
    adamw_rate: float,
    weight_decay: float,
    betas: tuple[float, float],
    embeddings_decay: float = 0.0,
) -> list[torch.optim.Optimizer]:
    """Two optimizers over `model`: its block matrices [out, in] orthogonalised, its vectors and embeddings by AdamW."""
    words = model.get_input_embeddings().weight
    matrices: list[nn.Parameter] = []
    rest: list[nn.Parameter] = []
    for name, parameter in model.named_parameters():
        if parameter.requires_grad and parameter is not words:
            inside = parameter.ndim == 2 and (".layers." in name or ".h." in name)
            (matrices if inside else rest).append(parameter)
    groups = [{"params": [words], "weight_decay": embeddings_decay}, {"params": rest, "weight_decay": 0.0}]
    return [
        # Rates are adjusted to a matrix's shape as by Muon's inventor.
        torch.optim.Muon(matrices, lr=muon_rate, weight_decay=weight_decay, adjust_lr_fn="original"),
        torch.optim.AdamW(groups, lr=adamw_rate, betas=betas, fused=True),
    ]


LEVELS = 127
"""The largest multiple of its step that a weight may be, either way."""


@torch.no_grad()
def to_whole_steps(network: PreTrainedModel) -> None:
    """Round every linear layer inside `network`, which is float32; embeddings and the scores over words stay."""
    output = network.get_output_embeddings()
    for module in network.modules():
        if isinstance(module, nn.Linear | Conv1D) and module is not output:
            weight = module.weight if isinstance(module, nn.Linear) else module.weight.T
            steps = steps_of(weight)[:, None]
            weight.copy_((weight / steps).round_().clamp_(-LEVELS, LEVELS) * steps)


def steps_of(weight: Tensor) -> Tensor:
    """The step of each output of `weight` `[out, in]`, `[out]`: the least whose `LEVELS`-fold reaches every weight."""
    largest = weight.abs().amax(dim=1).clamp_min(torch.finfo(torch.float32).tiny)
    return torch.exp2((largest / LEVELS).log2().ceil())


PLACES = 512
EMBEDDING_STD = 0.03
LAYERS = 4
DEEPER = (0, 1, 1, 2, 2, 3)
"""The layers of a deeper model by the one that each starts from."""


def new_model(tokenizer: PreTrainedTokenizerFast, layers: int = LAYERS) -> GPT2LMHeadModel:
    """A model with `layers` layers 384 wide and 6 heads, its weights random."""
    end = tokenizer.eos_token_id
    config = GPT2Config(
        vocab_size=len(tokenizer),
        n_positions=PLACES,
        n_embd=384,
        n_layer=layers,
        n_head=6,
        # The same function as GPT-2's gelu_new, in one kernel.
        activation_function="gelu_pytorch_tanh",
        resid_pdrop=0.0,
        embd_pdrop=0.0,
        attn_pdrop=0.0,
        bos_token_id=end,
        eos_token_id=end,
    )
    model = GPT2LMHeadModel(config)
    model.generation_config = GenerationConfig(
        do_sample=True, temperature=0.8, top_p=0.95, bos_token_id=end, eos_token_id=end, pad_token_id=end
    )
    return model


@torch.no_grad()
def borrow_embeddings(model: GPT2LMHeadModel, tokenizer: PreTrainedTokenizerFast, encoder: Path) -> None:
    """Start each piece [384] from the mean of its word pieces in `encoder`, a BERT of the same width."""
    words = AutoTokenizer.from_pretrained(encoder)
    table = BertModel.from_pretrained(encoder, add_pooling_layer=False).embeddings.word_embeddings.weight
    table = (table - table.mean(0)) / table.std() * EMBEDDING_STD
    known = words.get_vocab()
    embedding = model.transformer.wte.weight
    for at in range(len(tokenizer)):
        text = str(tokenizer.decode([at]))
        inside = "##" + text
        ids = [known[inside]] if inside in known else words(text, add_special_tokens=False)["input_ids"]
        if ids and words.unk_token_id not in ids:
            embedding[at] = table[ids].mean(0)


@torch.no_grad()
def repeat_positions(model: GPT2LMHeadModel, learnt: int) -> None:
    """Start the places that windows of `learnt` pieces never reach from those that they do."""
    places = model.transformer.wpe.weight
    for start in range(learnt, len(places), learnt):
        places[start : start + learnt] = places[: len(places[start : start + learnt])]


@torch.no_grad()
def deepened(model: GPT2LMHeadModel, tokenizer: PreTrainedTokenizerFast) -> GPT2LMHeadModel:
    """A model of `DEEPER`'s layers that computes what `model` does (stacking: Gong et al., 2019; Chen et al., 2016).

    A layer that comes twice adds nothing the second time: the matrices that lead back to the path past it are zero.
    """
    deeper = new_model(tokenizer, len(DEEPER))
    for own, theirs in zip(deeper.transformer.children(), model.transformer.children(), strict=True):
        if own is not deeper.transformer.h:
            own.load_state_dict(theirs.state_dict())
    for at, (block, start) in enumerate(zip(deeper.transformer.h, DEEPER, strict=True)):
        block.load_state_dict(model.transformer.h[start].state_dict())
        if start in DEEPER[:at]:
            for leading_back in ("attn.c_proj", "mlp.c_proj"):
                for parameter in block.get_submodule(leading_back).parameters():
                    parameter.zero_()
    return deeper
