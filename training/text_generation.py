"""Completion from scratch: GPT-2's architecture, small, trained on stories and reviews, then on everyday texts.

The everyday texts (`everyday_texts/`) are letters, recipes, news, answers and other kinds that people begin. The data,
as `data/text`: the first stories of TinyStories (Hub, `roneneldan/TinyStories`), the fairy tales of FairytaleQA,
children's books of Project Gutenberg, and the unlabelled reviews of IMDb (Maas et al., 2011), as plain text. Of simple
stories there are few, so a larger model writes more of them.
"""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import torch
from torch import nn
from transformers import GenerationConfig, GPT2Config, GPT2LMHeadModel, PreTrainedTokenizerFast

from evaluation.measures import text_generation
from evaluation.perplexity import perplexity_per_word
from training import stories
from training.bpe import byte_level_tokenizer
from training.cards import Card, Credit, save, write_card
from training.loop import Plan, muon_and_adamw, train
from training.stories import Prose
from training.text import read_text

NAME = "clearhead-stories"
VOCABULARY = 8192
WIDTH = 384
WARMUP_STEPS = 100
PLACES = 512
EVERYDAY = Path(__file__).with_name("everyday_texts")


@dataclass(frozen=True)
class Part:
    """A part of training: `steps` batches of `rows` windows of `window` pieces, at `rate` times the full rates.

    `shares` are the shares of windows from short stories, fairy tales, books, reviews, stories that a larger model
    wrote, and everyday texts. Of all windows the share `opened` begins where a text does.
    """

    name: str
    steps: int
    rate: float
    rows: int
    window: int
    shares: tuple[float, ...]
    opened: float


PARTS = (
    Part("stories", steps=30_000, rate=1.0, rows=16, window=512, shares=(0.05, 0.05, 0.1, 0.6, 0.2, 0), opened=0.2),
    Part("everyday", steps=1_400, rate=0.05, rows=32, window=256, shares=(0.05, 0.04, 0.09, 0.42, 0, 0.4), opened=0.35),
)
WEIGHT_DECAY = 0.1
WRITTEN_STORIES = 10_000
EVALUATED_EVERY = 500
DEVELOPMENT_CHARACTERS = 60_000
SEED = 21


def new_model(tokenizer: PreTrainedTokenizerFast) -> GPT2LMHeadModel:
    """A model with 6 layers and 6 heads, its weights random."""
    end = tokenizer.eos_token_id
    config = GPT2Config(
        vocab_size=len(tokenizer),
        n_positions=PLACES,
        n_embd=WIDTH,
        n_layer=6,
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


def development(tokenizer: PreTrainedTokenizerFast, text: Prose) -> Callable[[nn.Module], dict[str, float]]:
    """A measure for the loop: perplexity per word on the beginning of each text kept out."""

    def evaluate(model: nn.Module) -> dict[str, float]:
        return {
            name: round(perplexity_per_word(model, tokenizer, kept_out[:DEVELOPMENT_CHARACTERS]), 1)
            for name, kept_out in (("books", text.books_kept_out), ("reviews", text.reviews_kept_out))
        }

    return evaluate


def build(data: Path, workdir: Path) -> None:
    """Train the completion model, save it, measure it and write its card."""
    torch.manual_seed(SEED)
    text = stories.load(data)
    folder = workdir / NAME
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "books_kept_out.txt").write_text(text.books_kept_out, encoding="utf-8")
    (folder / "reviews_kept_out.txt").write_text(text.reviews_kept_out, encoding="utf-8")
    written = stories.written_stories(text.short_stories, WRITTEN_STORIES, folder / "writer")
    everyday = [each for file in sorted(EVERYDAY.glob("*.txt")) for each in read_text(file).strip().split("\n\n")]
    by_source = [text.short_stories, text.fairy_tales, text.books, text.reviews, written, everyday]

    tokenizer = byte_level_tokenizer((document for documents in by_source for document in documents), VOCABULARY)
    model = new_model(tokenizer)

    sources = [stories.join(tokenizer, documents) for documents in by_source]
    for part in PARTS:
        train(
            model,
            muon_and_adamw(model, WEIGHT_DECAY, part.rate),
            lambda step, part=part: stories.windows(  # type: ignore[misc]
                sources, part.shares, part.rows, part.window, part.opened, step
            ),
            stories.next_piece_loss,
            Plan(steps=part.steps, warmup_steps=min(WARMUP_STEPS, part.steps // 10), workdir=folder / part.name),
            evaluate=development(tokenizer, text),
            evaluate_every=EVALUATED_EVERY,
        )

    saved = save(model, tokenizer, NAME)
    books, reviews = (text_generation(saved, kept_out) for kept_out in (text.books_kept_out, text.reviews_kept_out))
    figures = {
        "perplexity per word, two children's books kept out": books["perplexity_per_word"],
        "perplexity per word, 500 film reviews kept out": reviews["perplexity_per_word"],
    }
    write_card(card(figures))


def card(figures: dict[str, float]) -> Card:
    """The model card's content, with `figures`."""
    return Card(
        name=NAME,
        task="text-generation",
        languages=("en",),
        license="apache-2.0",
        what="A small GPT-2 (6 layers, 384 wide, 6 heads, 14 M parameters, a vocabulary of its own of 8,192 byte-level "
        "pieces) that goes on with plain English: stories, letters, recipes, news, film reviews. An empty prompt "
        "starts a text; `<|endoftext|>` ends one.",
        sources=(
            Credit("TinyStories, its first 1,727 stories", "CDLA-Sharing-1.0"),
            Credit("278 fairy tales, the texts behind FairytaleQA", "Apache-2.0"),
            Credit("58 children's books of Project Gutenberg", "public domain in the United States"),
            Credit("film reviews of IMDb (Maas et al., 2011), without labels", "none stated; research use"),
            Credit("letters, recipes, news and other everyday texts, written for this", "Apache-2.0"),
            Credit("SmolLM2-135M-Instruct, which wrote more short stories", "Apache-2.0"),
        ),
        recipe="`training/text_generation.py`: from scratch, "
        + "; then ".join(
            f"{part.steps:,} steps of {part.rows} windows of {part.window} pieces at {part.rate} of the rates, "
            f"{part.opened:.0%} of them begun where a text does, "
            f"{', '.join(f'{share:.0%}' for share in part.shares)} short stories, fairy tales, books, reviews, written "
            "stories and everyday texts"
            for part in PARTS
        )
        + ". Muon for the matrices inside the blocks, with weight decay "
        f"{WEIGHT_DECAY}, AdamW for the rest, linear decay to zero, bfloat16 autocast. SmolLM2-135M-Instruct, trained "
        f"on the short stories for {stories.WRITER_STEPS} steps, wrote the written ones, {WRITTEN_STORIES:,} at most, "
        "each from the first words of one of them.",
        figures=figures,
        limits="It has read stories for children, film reviews and a few thousand everyday texts: it knows hardly any "
        "facts, follows no instruction, and loses the thread after a few sentences. Old books and anonymous reviews "
        "bring their views with them.",
    )
