"""Translating before Transformers: four LSTM encoder-decoders, trained on the same pairs as the bundled translator.

One passes a sentence on as a single vector (Sutskever, Vinyals and Le, 2014). The three others attend to all encoder
states, and differ only in the score: a small network (additive; Bahdanau, Cho and Bengio, 2015), a dot product, or a
bilinear form (Luong, Pham and Manning, 2015).
"""

import json
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any, cast

import torch
from safetensors.torch import save_file
from torch import Tensor, nn
from torch.nn import functional
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence
from transformers import PreTrainedTokenizerFast

from evaluation import alignment
from models.before import translators
from models.before.translators import ADDITIVE, BILINEAR, DOT, ONE_VECTOR, repeats
from models.loading.prepared import sha256_of
from models.loading.store import load_model
from models.registry import BUNDLED
from models.tasks.translation import Translation
from training.cards import commit
from training.loop import Batch, Plan, adamw, development_loss, train
from training.text import Pair, read_pairs
from training.translation import ALIGNED_SENTENCES, Encoded, ParallelText, batches, encode, load
from training.translation import NAME as TRANSLATOR

NAME = "early-translators"
WIDTH, STATES, ADDITIVE_STATES = 96, 256, 128
"""The width of a piece's embedding, the hidden width of the decoder (half of it in each direction of the encoder), and
the hidden units of the additive score."""

STAGES = {ONE_VECTOR: (3_400, 2_400, 2_400), DOT: (3_400,), ADDITIVE: (1_600,), BILINEAR: (1_000,)}
"""The steps of each stage, in the order in which they are trained; the rate rises and falls anew in each."""

FROM_DOT = (ADDITIVE, BILINEAR)
"""These start from the weights of the translator with dot attention, all but the score: in 3,400 steps from scratch
they hardly learned to attend (BLEU 15.0 and 9.1 on captions)."""

WARMUP_STEPS, BATCH_TOKENS, RATE = 100, 1_500, 3e-3
DROPOUT, LABEL_SMOOTHING = 0.2, 0.1
DEVELOPMENT_BATCHES, SENTENCES = 10, 500
LENGTHS = (8, 11, 14, 18, 1_000)
"""The most English words of a caption in each group by length."""

SEED = 8


class EarlyTranslator(nn.Module):
    """A bidirectional LSTM encoder and an LSTM decoder with one embedding matrix for all inputs and outputs.

    `key` is one of `models.before.translators.KINDS`. As in Luong et al., attention comes after the decoder's cell: the
    weighted mean of the encoder's states and the cell's state together predict the next piece.
    """

    def __init__(self, pieces: int, pad: int, key: str) -> None:
        super().__init__()
        self.key, self.pad = key, pad
        self.vectors = nn.Embedding(pieces, WIDTH)
        nn.init.normal_(self.vectors.weight, std=WIDTH**-0.5)
        self.encoder = nn.LSTM(WIDTH, STATES // 2, batch_first=True, bidirectional=True)
        self.decoder = nn.LSTM(WIDTH, STATES, batch_first=True)
        if key == ADDITIVE:
            self.of_query = nn.Linear(STATES, ADDITIVE_STATES)
            self.of_key = nn.Linear(STATES, ADDITIVE_STATES, bias=False)
            self.of_both = nn.Linear(ADDITIVE_STATES, 1, bias=False)
        elif key == BILINEAR:
            self.of_query = nn.Linear(STATES, STATES, bias=False)
            nn.init.eye_(self.of_query.weight)  # It begins as the dot product.
        self.mix = nn.Linear(STATES if key == ONE_VECTOR else 2 * STATES, WIDTH)
        self.bias = nn.Parameter(torch.zeros(pieces))
        self.dropout = nn.Dropout(DROPOUT)

    def forward(self, source: Tensor, read: Tensor) -> Tensor:
        """Features `[row, T, WIDTH]` that predict the piece after each of `read` `[row, T]`; `source` is `[row, S]`."""
        seen = source.ne(self.pad)
        packed = pack_padded_sequence(
            self.dropout(self.vectors(source)), seen.sum(dim=1), batch_first=True, enforce_sorted=False
        )
        packed_states, (hidden, cell) = self.encoder(packed)
        encoded, _ = pad_packed_sequence(packed_states, batch_first=True, total_length=source.shape[1])
        start = tuple(torch.cat([each[0], each[1]], dim=1)[None] for each in (hidden, cell))
        states, _ = self.decoder(self.dropout(self.vectors(read)), start)
        features = states
        if self.key != ONE_VECTOR:
            scores = self.scores(states, encoded).masked_fill(~seen[:, None], -torch.inf)
            features = torch.cat([scores.softmax(dim=2) @ encoded, states], dim=2)
        mixed: Tensor = self.dropout(torch.tanh(self.mix(features)))
        return mixed

    def guess(self, mixed: Tensor) -> Tensor:
        """The logits `[…, piece]` of the next piece."""
        return functional.linear(mixed, self.vectors.weight, self.bias)

    def scores(self, states: Tensor, encoded: Tensor) -> Tensor:
        """The attention scores `[row, T, S]` of the source's places for each of the decoder's `states`."""
        if self.key == ADDITIVE:
            both = self.of_query(states)[:, :, None] + self.of_key(encoded)[:, None]
            fit: Tensor = self.of_both(torch.tanh(both)).squeeze(dim=3)
            return fit
        queries = self.of_query(states) if self.key == BILINEAR else states
        return queries @ encoded.transpose(1, 2)


def loss_of(model: EarlyTranslator, batch: Batch) -> Tensor:
    """Mean cross-entropy per target piece, with label smoothing while training; padding does not count."""
    source, target = batch["source"], batch["target"]
    read = torch.cat([torch.full_like(target[:, :1], model.pad), target[:, :-1]], dim=1)
    counted = target.ne(model.pad)
    logits = model.guess(model(source, read)[counted])
    return functional.cross_entropy(
        logits.float(), target[counted], label_smoothing=LABEL_SMOOTHING if model.training else 0.0
    )


def measured(translate: Callable[[str], str], captions: Sequence[Pair], sentences: Sequence[Pair]) -> dict[str, Any]:
    """BLEU of greedy search, as sacreBLEU computes it, on both sets and on captions by the length of the English.

    `repeats` is the percentage of captions whose translation says something twice in a row.
    """
    found = [translate(pair.english) for pair in captions]
    by_length = [
        (text, pair.french, next(place for place, most in enumerate(LENGTHS) if len(pair.english.split()) <= most))
        for text, pair in zip(found, captions, strict=True)
    ]
    bins = [[(text, french) for text, french, own in by_length if own == place] for place in range(len(LENGTHS))]
    return {
        "captions": bleu(list(zip(found, (pair.french for pair in captions), strict=True))),
        "tatoeba": bleu([(translate(pair.english), pair.french) for pair in sentences]),
        "by_length": [bleu(each) for each in bins],
        "repeats": round(100 * sum(bool(repeats(text)) for text in found) / len(found), 1),
    }


def bleu(pairs: Sequence[tuple[str, str]]) -> float:
    """The BLEU of translations, each with its reference; 0 if there are none."""
    from sacrebleu import corpus_bleu

    found, references = ([pair[side] for pair in pairs] for side in (0, 1))
    return round(corpus_bleu(found, [references]).score, 1) if pairs else 0.0


def build(data: Path, workdir: Path) -> None:
    """Train the four translators from the same seed, measure them and the Transformer, and write the card."""
    tokenizer = PreTrainedTokenizerFast.from_pretrained(BUNDLED / TRANSLATOR)
    pad, parallel = int(tokenizer.pad_token_id), load(data)
    encoded, unseen = (encode(tokenizer, pairs) for pairs in (parallel.train, parallel.tatoeba + parallel.multi30k))
    development = list(islice(batches(unseen, pad, 0, BATCH_TOKENS), DEVELOPMENT_BATCHES))
    translators.FOLDER.mkdir(parents=True, exist_ok=True)
    trained: dict[str, dict[str, Tensor]] = {}
    for key, stages in STAGES.items():
        torch.manual_seed(SEED)
        model = EarlyTranslator(len(tokenizer), pad, key)
        if key in FROM_DOT:
            model.load_state_dict(trained[DOT], strict=False)
        for stage, steps in enumerate(stages):
            train(
                model,
                [adamw(model, RATE)],
                partial(from_step, encoded, pad, sum(stages[:stage])),
                loss_of,
                Plan(steps=steps, warmup_steps=WARMUP_STEPS, workdir=workdir / NAME / f"{key}-{stage + 1}"),
                evaluate=development_loss(loss_of, development),
                evaluate_every=400,
            )
        trained[key] = model.state_dict()
        weights = {name: each.half() for name, each in trained[key].items()}
        save_file(weights, translators.file_of(key, translators.FOLDER))
    translators.load.cache_clear()
    found = figures_of(parallel, data)
    (translators.FOLDER / translators.FIGURES).write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
    (translators.FOLDER / "README.md").write_text(card(found), encoding="utf-8")


def from_step(encoded: Encoded, pad: int, before: int, step: int) -> Iterator[Batch]:
    """The batches from `step` on of a stage that comes after `before` steps."""
    return batches(encoded, pad, before + step, BATCH_TOKENS)


def figures_of(parallel: ParallelText, data: Path) -> dict[str, Any]:
    """The figures of all five translators by their keys, and the Transformer's head that aligns words best."""
    transformer = cast(Translation, load_model(TRANSLATOR))
    captions = [pair.english for pair in parallel.multi30k[:ALIGNED_SENTENCES]]
    heads, _ = alignment.measure(transformer, read_pairs(data / "translation/multi30k_train_en_fr.tsv"), captions)
    found = {
        kind.key: measured(partial(greedily, transformer, kind.key), parallel.multi30k, parallel.tatoeba[:SENTENCES])
        for kind in (*translators.KINDS, translators.THE_TRANSFORMER)
    }
    return {"lengths": LENGTHS, "head": [heads[0].layer, heads[0].head], "figures": found}


def greedily(transformer: Translation, key: str, english: str) -> str:
    """Translate a sentence greedily by the translator called `key`, in the pieces of the `transformer`."""
    sentence = transformer.encoded_sentence(english, 0, "")
    if key == translators.THE_TRANSFORMER.key:
        return transformer.text_of(transformer.hypotheses(sentence, 1)[0].ids)
    start, end = transformer.generation.start_id or 0, min(transformer.generation.end_ids)
    one = translators.load(key, translators.FOLDER)
    return transformer.text_of(one.translate(sentence.ids[0].tolist(), start, end, transformer.room_for(sentence)).ids)


def card(found: dict[str, Any]) -> str:
    """The model card, in Markdown."""
    rows = "\n".join(
        f"| {name} | {each['captions']} | {each['tatoeba']} | {' / '.join(map(str, each['by_length']))} | "
        f"{each['repeats']} % |"
        for name, each in found["figures"].items()
    )
    files = [translators.file_of(kind.key, translators.FOLDER) for kind in translators.KINDS]
    digests = "\n".join(f"- `{file.name}`: sha256 `{sha256_of(file)}`" for file in files)
    stages = "\n".join(
        f"- `{key}`: {' + '.join(f'{steps:,}' for steps in stages)} steps{', from `dot`' * (key in FROM_DOT)}"
        for key, stages in STAGES.items()
    )
    lengths = ", ".join(f"at most {most}" for most in LENGTHS[:-1])
    return _CARD.format(
        commit=commit(), tokens=BATCH_TOKENS, stages=stages, sentences=SENTENCES, lengths=lengths, rows=rows,
        digests=digests,
    )  # fmt: skip


_CARD = """# Translators from before Transformers

Four LSTM encoder-decoders from English to French (`models/before/translators.py`): an encoder in both directions, 128
states wide each, and a decoder of 256 states, over the vocabulary of `clearhead-en-fr`; 1.4 to 1.5 M parameters each.
`one_vector` hands the encoder's last states over and nothing else; the others look back at all of them, and score them
in three ways.

## Data

The pairs that `clearhead-en-fr` learned from; see its card.

## Recipe

`python -m training --task early-translators --data DIR` (`training/early_translators.py`, commit `{commit}`): batches
of about {tokens:,} tokens of either language, in float32, AdamW, a rate that rises and falls in each stage, dropout and
label smoothing. Weights are kept in float16.

{stages}

Additive and bilinear attention from scratch had hardly learned where to look after 3,400 steps (BLEU 15.0 and 9.1 on
captions, 32.1 with dot attention). So they begin as the translator with dot attention, all but the score; the bilinear
one's matrix begins as the identity.

## Figures

sacreBLEU of greedy search, of all five: 1,014 captions of Multi30k (val), {sentences} sentences of Tatoeba kept out,
and the captions by their length in English words
({lengths}, more). Last, the share of captions whose translation says
something twice in a row.

| translator | captions | Tatoeba | captions by length | repeats itself |
|---|---|---|---|---|
{rows}

## Limits

They are far smaller than those of the papers, learned from everyday sentences and captions alone, and are here to be
compared. To translate, take the Transformer.

## Files

{digests}
- `figures.json`: the figures above, and the Transformer's head that aligns words best
"""
