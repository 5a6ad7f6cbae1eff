"""Completion from scratch: GPT-2's architecture, small, trained on stories and reviews, then on everyday texts as well.

The everyday texts (`everyday_texts/`) are letters, recipes, news, answers and other kinds that people begin. For them
the model gets two layers more, and its predictions for the older texts are kept near to those of before.

The data, as `data/text`: the first stories of TinyStories (Hub, `roneneldan/TinyStories`), the fairy tales of
FairytaleQA, children's books of Project Gutenberg, and the unlabelled reviews of IMDb (Maas et al., 2011), as plain
text. Of simple stories there are few, so a larger model writes more of them.
"""

import copy
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import torch
from torch import Tensor, nn
from torch.nn import functional
from transformers import GenerationConfig, GPT2Config, GPT2LMHeadModel, PreTrainedTokenizerFast

from evaluation.measures import text_generation
from evaluation.perplexity import perplexity_per_word
from training import stories
from training.bpe import byte_level_tokenizer
from training.cards import Card, Credit, save, write_card
from training.loop import Batch, Plan, device, muon_and_adamw, train
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
    """A part of training: `steps` batches of `rows` windows of `window` pieces.

    `shares` are the shares of windows from short stories, fairy tales, books, reviews and stories that a larger model
    wrote. Of all windows the share `opened` begins where a text does.
    """

    steps: int
    rows: int
    window: int
    shares: tuple[float, ...]
    opened: float


STORIES = Part(steps=30_000, rows=16, window=512, shares=(0.05, 0.05, 0.1, 0.6, 0.2), opened=0.2)
BESIDE_EVERYDAY = Part(steps=900, rows=12, window=256, shares=(0.06, 0.08, 0.26, 0.6, 0), opened=0.15)
"""The windows of older texts in the second part; each batch has as many of everyday texts."""

EVERYDAY_OPENED = 0.6
LAYERS_MORE = 2
KNOWN_RATE, FRESH_RATE = 1e-4, 8e-4
"""The learning rates of the weights that the first part has trained, and of the new layers."""

HELD = 0.7
"""The share of the Kullback-Leibler divergence in the loss on older texts; the rest is cross-entropy."""

BACK = 0.25
"""The share of the weights of before in the mean of both that is saved at the end."""

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


def with_more_layers(model: GPT2LMHeadModel, more: int) -> GPT2LMHeadModel:
    """A copy of `model` with `more` layers on top that change nothing yet: copies of the last, their outputs zero."""
    config = copy.deepcopy(model.config)
    config.n_layer += more
    deeper = GPT2LMHeadModel(config)
    deeper.load_state_dict(model.state_dict(), strict=False)
    deeper.generation_config = model.generation_config
    for layer in deeper.transformer.h[-more:]:
        layer.load_state_dict(model.transformer.h[-1].state_dict())
        for output in ("attn.c_proj", "mlp.c_proj"):
            nn.init.zeros_(layer.get_parameter(f"{output}.weight"))
            nn.init.zeros_(layer.get_parameter(f"{output}.bias"))
    return deeper


def at_two_rates(model: GPT2LMHeadModel) -> torch.optim.Optimizer:
    """AdamW, at `FRESH_RATE` over the layers on top and at `KNOWN_RATE` over all else."""
    fresh = list(model.transformer.h[-LAYERS_MORE:].parameters())
    known = [each for each in model.parameters() if all(each is not other for other in fresh)]
    groups = [{"params": known, "lr": KNOWN_RATE}, {"params": fresh, "lr": FRESH_RATE}]
    return torch.optim.AdamW(groups, betas=(0.9, 0.98), weight_decay=0.05, fused=True)


def everyday_batches(everyday: stories.Source, older: list[stories.Source], part: Part, step: int) -> Iterator[Batch]:
    """Endless batches from `step` on: `part.rows` windows of everyday texts, then as many of `older` ones."""
    size = (part.rows, part.window)
    own = stories.windows([everyday], (1.0,), *size, EVERYDAY_OPENED, step)
    for ours, theirs in zip(own, stories.windows(older, part.shares, *size, part.opened, step), strict=True):
        yield {"pieces": torch.cat([ours["pieces"], theirs["pieces"]])}


def remembering_loss(before: nn.Module) -> Callable[[GPT2LMHeadModel, Batch], Tensor]:
    """A loss for `everyday_batches` that keeps the model's predictions for older texts near to those of `before`.

    Learning without forgetting (Li and Hoiem, 2016): on older texts the Kullback-Leibler divergence from the
    probabilities of `before` for the next piece stands in for most of the cross-entropy.
    """
    before = before.to(device()).eval()

    def loss_of(model: GPT2LMHeadModel, batch: Batch) -> Tensor:
        read, next_pieces = batch["pieces"][:, :-1], batch["pieces"][:, 1:]
        logits = model(input_ids=read, use_cache=False).logits.float()
        everyday, older = functional.cross_entropy(logits.mT, next_pieces, reduction="none").chunk(2)
        with torch.no_grad():
            expected = before(input_ids=read.chunk(2)[1], use_cache=False).logits.float().log_softmax(-1)
        now = logits.chunk(2)[1].log_softmax(-1)
        moved = functional.kl_div(now, expected, log_target=True, reduction="none").sum(-1)
        return (everyday.mean() + (1 - HELD) * older.mean() + HELD * moved.mean()) / 2

    return loss_of


@torch.no_grad()
def go_back(model: GPT2LMHeadModel, before: GPT2LMHeadModel, share: float) -> None:
    """Move the weights of `model` that `before` has as well by `share` of the way back to it, in place."""
    after = dict(model.named_parameters())
    for name, weights in before.named_parameters():
        after[name].lerp_(weights, share)


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
    by_source = [text.short_stories, text.fairy_tales, text.books, text.reviews, written]

    tokenizer = byte_level_tokenizer(
        (document for documents in (*by_source, everyday) for document in documents), VOCABULARY
    )
    older = [stories.join(tokenizer, documents) for documents in by_source]
    model = new_model(tokenizer)
    train(
        model,
        muon_and_adamw(model, WEIGHT_DECAY),
        lambda step: stories.windows(older, STORIES.shares, STORIES.rows, STORIES.window, STORIES.opened, step),
        stories.next_piece_loss,
        Plan(steps=STORIES.steps, warmup_steps=WARMUP_STEPS, workdir=folder / "stories"),
        evaluate=development(tokenizer, text),
        evaluate_every=EVALUATED_EVERY,
    )
    before, model = model, with_more_layers(model, LAYERS_MORE)
    train(
        model,
        [at_two_rates(model)],
        lambda step: everyday_batches(stories.join(tokenizer, everyday), older, BESIDE_EVERYDAY, step),
        remembering_loss(before),
        Plan(steps=BESIDE_EVERYDAY.steps, warmup_steps=WARMUP_STEPS // 2, workdir=folder / "everyday"),
        evaluate=development(tokenizer, text),
        evaluate_every=EVALUATED_EVERY,
    )
    go_back(model, before, BACK)

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
        what="A small GPT-2 (8 layers, 384 wide, 6 heads, 18 M parameters, a vocabulary of its own of 8,192 byte-level "
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
        recipe=f"`training/text_generation.py`: six layers from scratch, {STORIES.steps:,} steps of {STORIES.rows} "
        f"windows of {STORIES.window} pieces, {STORIES.opened:.0%} of them begun where a text does, "
        f"{', '.join(f'{share:.0%}' for share in STORIES.shares)} short stories, fairy tales, books, reviews and "
        f"written stories; Muon for the matrices inside the blocks, with weight decay {WEIGHT_DECAY}, AdamW for the "
        "rest. SmolLM2-135M-Instruct, trained on the short stories for "
        f"{stories.WRITER_STEPS} steps, wrote the written ones, {WRITTEN_STORIES:,} at most, each from the first words "
        f"of one of them. Then, with {LAYERS_MORE} layers more, {BESIDE_EVERYDAY.steps:,} steps of "
        f"{BESIDE_EVERYDAY.rows} windows of {BESIDE_EVERYDAY.window} pieces of everyday texts and as many of the older "
        f"ones; AdamW, {KNOWN_RATE} and for the new layers {FRESH_RATE}; of the loss on older texts {HELD:.0%} was the "
        "divergence from the predictions of before. The weights, but for the new layers', are the mean of those before "
        f"this part, {BACK:.0%}, and after it. Linear decay to zero, bfloat16 autocast where that is "
        "quick.",
        figures=figures,
        limits="It has read stories for children, film reviews and a few thousand everyday texts: it knows hardly any "
        "facts, follows no instruction, and loses the thread after a few sentences. Old books and anonymous reviews "
        "bring their views with them.",
    )
