"""Completion from scratch: GPT-2's architecture, small, trained on stories a child could read.

The data, as `data/text`: the first stories of TinyStories (Hub, `roneneldan/TinyStories`), the fairy tales behind
FairytaleQA, and children's books of Project Gutenberg, the last two as plain text.
"""

import math
import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import torch
from torch import Tensor, nn
from torch.nn import functional
from transformers import (
    AutoTokenizer,
    BertModel,
    GenerationConfig,
    GPT2Config,
    GPT2LMHeadModel,
    PreTrainedTokenizerFast,
)

from benchmarks.probes import OF_CARDS, bundled_share
from models.tasks import Task
from training import samples, stories
from training.bpe import byte_level_tokenizer
from training.cards import CHECKPOINTS, Card, write_card
from training.cards import Source as Licensed
from training.loop import Batch, Plan, device, train
from training.masked_lm import published_encoder
from training.optimizers import muon_and_adamw

NAME = "clearhead-stories"
STEPS = 700
WARMUP_STEPS = 100
ROWS, WINDOW = 16, 256
VOCABULARY = 8192
SEED = 21
# What share of the rows each source has at the first and at the last step: breadth first, plain stories to end on.
FIRST_SHARES = (0.30, 0.25, 0.45)
LAST_SHARES = (0.60, 0.25, 0.15)
# How many windows begin with a document. Books are few: their openings, seen often, would be learnt by heart.
ALIGNED_SHARES = (0.5, 0.5, 0.0)
EMBEDDING_STD = 0.03
DEVELOPMENT_CHARACTERS = 40_000


@dataclass(frozen=True)
class Source:
    """One source as a single run of pieces [n], and the places where its documents begin."""

    pieces: Tensor
    starts: list[int]


def join(tokenizer: PreTrainedTokenizerFast, documents: list[str]) -> Source:
    """The documents one after another, each opened by the end-of-text token, which so ends the one before."""
    end = tokenizer.eos_token_id
    run: list[int] = []
    starts = []
    for pieces in tokenizer(documents, verbose=False)["input_ids"]:
        starts.append(len(run))
        run += [end, *pieces]
    return Source(torch.tensor([*run, end]), starts)


def new_model(tokenizer: PreTrainedTokenizerFast) -> GPT2LMHeadModel:
    """GPT-2's architecture with 4 layers 384 wide and 6 heads."""
    end = tokenizer.eos_token_id
    config = GPT2Config(
        vocab_size=len(tokenizer),
        n_positions=512,
        n_embd=384,
        n_layer=4,
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
        text = tokenizer.decode([at])
        inside = "##" + text
        ids = [known[inside]] if inside in known else words(text, add_special_tokens=False)["input_ids"]
        if ids and words.unk_token_id not in ids:
            embedding[at] = table[ids].mean(0)


def windows_of(sources: list[Source], step: int, steps: int) -> Iterator[Batch]:
    """Endless batches [ROWS, WINDOW + 1]: windows of the sources, some from where a document begins."""
    while True:
        chance = random.Random(f"{SEED} {step}")
        progress = min(1.0, step / steps)
        shares = [first + (last - first) * progress for first, last in zip(FIRST_SHARES, LAST_SHARES, strict=True)]
        rows = []
        for source, aligned in chance.choices(list(zip(sources, ALIGNED_SHARES, strict=True)), shares, k=ROWS):
            last = len(source.pieces) - WINDOW - 1
            start = chance.choice(source.starts) if chance.random() < aligned else chance.randrange(last)
            start = min(start, last)
            rows.append(source.pieces[start : start + WINDOW + 1])
        yield {"pieces": torch.stack(rows)}
        step += 1


def next_piece_loss(model: nn.Module, batch: Batch) -> Tensor:
    """Mean cross-entropy of every piece given those before it, over windows [B, L + 1]."""
    pieces = batch["pieces"]
    logits = model(input_ids=pieces[:, :-1], use_cache=False).logits
    return functional.cross_entropy(logits.flatten(0, 1).float(), pieces[:, 1:].flatten())


@torch.inference_mode()
def perplexity_per_word(
    model: nn.Module, tokenizer: PreTrainedTokenizerFast, text: str, from_start: bool = False
) -> float:
    """exp(loss of all pieces / number of words) over windows that follow each other, or each the start token."""
    pieces = torch.tensor([tokenizer.eos_token_id, *tokenizer(text, verbose=False)["input_ids"]])
    total = 0.0
    for start in range(0, len(pieces) - 1, WINDOW):
        window = pieces[None, start : start + WINDOW + 1].clone()
        if from_start:
            window[0, 0] = tokenizer.eos_token_id
        total += next_piece_loss(model, {"pieces": window.to(device())}).item() * (window.shape[1] - 1)
    return math.exp(total / len(text.split()))


def development(tokenizer: PreTrainedTokenizerFast, text: str) -> Callable[[nn.Module], dict[str, float]]:
    """A measure for the loop: perplexity per word on `text`."""

    def evaluate(model: nn.Module) -> dict[str, float]:
        return {"perplexity_per_word": round(perplexity_per_word(model, tokenizer, text), 1)}

    return evaluate


def figures_of(
    model: GPT2LMHeadModel, tokenizer: PreTrainedTokenizerFast, sources: list[Source], kept_out: str
) -> dict[str, float]:
    """Perplexity on the book kept out, and what can be counted in seeded samples."""
    short = [samples.sample(model, tokenizer, "", seed, 60) for seed in range(20)]
    long = [samples.sample(model, tokenizer, "", seed, 120) for seed in range(100, 200)]
    for pieces in short:
        print(tokenizer.decode(pieces), end="\n---\n", flush=True)
    return {
        "perplexity per word, a children's book kept out": perplexity_per_word(model, tokenizer, kept_out),
        "the same, each window after the start token": perplexity_per_word(model, tokenizer, kept_out, from_start=True),
        "samples of 60 tokens that repeat a 4-gram three times, of 20": sum(map(samples.repeats_phrase, short)),
        "samples of 120 tokens with 40 in a row from training, of 100": len(
            samples.copied(long, [s.pieces for s in sources])
        ),
    }


def build(data: Path, workdir: Path, steps: int = STEPS) -> None:
    """Train the completion model from `data` and save it among the checkpoints."""
    torch.manual_seed(SEED)
    text = stories.load(data)
    file = workdir / NAME / "book_kept_out.txt"
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text.kept_out, encoding="utf-8")
    by_source = [text.short_stories, text.fairy_tales, text.books]
    tokenizer = byte_level_tokenizer((document for documents in by_source for document in documents), VOCABULARY)
    model = new_model(tokenizer)
    borrow_embeddings(model, tokenizer, published_encoder())
    sources = [join(tokenizer, documents) for documents in by_source]
    train(
        model,
        muon_and_adamw(model, muon_rate=0.02, adamw_rate=3e-3, weight_decay=0.05, betas=(0.9, 0.95)),
        lambda step: windows_of(sources, step, steps),
        next_piece_loss,
        Plan(steps=steps, warmup_steps=WARMUP_STEPS, workdir=workdir / NAME),
        evaluate=development(tokenizer, text.kept_out[:DEVELOPMENT_CHARACTERS]),
        evaluate_every=250,
    )
    model.half().save_pretrained(CHECKPOINTS / NAME)
    tokenizer.save_pretrained(CHECKPOINTS / NAME)
    figures = figures_of(model.float().cpu(), tokenizer, sources, text.kept_out)
    figures[OF_CARDS] = bundled_share(Task.COMPLETION)
    print(figures)
    write_card(card(figures))


def card(figures: dict[str, float]) -> Card:
    """The model card's content, with `figures`."""
    return Card(
        name=NAME,
        task="text-generation",
        languages=("en",),
        license="apache-2.0",
        what="A small GPT-2 (4 layers, 384 wide, 6 heads, 10 M parameters, a vocabulary of its own of 8,192 byte-level "
        "pieces) that writes plain English stories. An empty prompt starts a story; `<|endoftext|>` ends one.",
        sources=(
            Licensed("TinyStories, its first 1,727 stories", "CDLA-Sharing-1.0"),
            Licensed("278 fairy tales, the texts behind FairytaleQA", "Apache-2.0"),
            Licensed("51 children's books of Project Gutenberg", "public domain in the United States"),
            Licensed("all-MiniLM-L6-v2, whose word embeddings the model's own start from", "Apache-2.0"),
        ),
        recipe=f"`training/text_generation.py`: {STEPS} steps of {ROWS} windows of {WINDOW} pieces, bfloat16 autocast "
        "on the CPU. Muon (0.02) for the matrices inside the blocks, AdamW (3e-3) for the rest, linear decay to zero. "
        f"The sources' shares of a batch move from {FIRST_SHARES} to {LAST_SHARES}: short stories, fairy tales, books.",
        figures=figures,
        limits="It has read stories for children and little else: it knows no facts, follows no instruction, and loses "
        "the thread after a few sentences. From an empty prompt it sometimes recites the opening of a book that it has "
        "read. Old books bring old views with them.",
    )
