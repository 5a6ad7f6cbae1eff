"""The networks: eleven ways to read a sentence, from adding weights to a language model's vectors.

Each reads ids `[row, word]`, filled up with `PAD` on the right, and returns the log-odds `[row]` that the text praises;
its probability is their sigmoid.
"""

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn import functional
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

from models.before.words import PAD
from models.wording import Sentence

WIDTH = 100
"""The numbers of a word's vector."""

STATES = 100
"""The numbers of a recurrent network's state, in each direction."""

LANGUAGE_STATES = 256
FILTERS, SPANS = 64, (2, 3, 4)
HIDDEN_LAYERS = 2
FROZEN_FEATURES = 64
DROPOUT = 0.4


class Bag(nn.Module):
    """Bag of words, or of n-grams: each feature has one weight, and the weights are added."""

    def __init__(self, features: int) -> None:
        super().__init__()
        self.weight = nn.Embedding(features, 1, padding_idx=PAD)
        self.bias = nn.Parameter(torch.zeros(1))
        nn.init.zeros_(self.weight.weight)

    def forward(self, ids: Tensor) -> Tensor:
        """The log-odds `[row]`."""
        added: Tensor = self.weight(ids).sum(dim=1)[:, 0]
        return added + self.bias


class OfVectors(nn.Module):
    """A network that turns words into vectors, those into `features` `[row, feature]`, and weighs and adds these."""

    def __init__(self, words: int, features: int) -> None:
        super().__init__()
        self.vectors = nn.Embedding(words, WIDTH, padding_idx=PAD)
        self.out = nn.Linear(features, 1)
        self.dropout = nn.Dropout(DROPOUT)

    def forward(self, ids: Tensor) -> Tensor:
        """The log-odds `[row]`."""
        return self.score(self.vectors(ids), ids != PAD)

    def score(self, vectors: Tensor, seen: Tensor) -> Tensor:
        """The log-odds `[row]` from the words' vectors `[row, word, WIDTH]`, of which those that are `seen` count."""
        logits: Tensor = self.out(self.dropout(self.features(self.dropout(vectors), seen)))
        return logits[:, 0]

    def features(self, vectors: Tensor, seen: Tensor) -> Tensor:
        """The features `[row, feature]`."""
        raise NotImplementedError


class ContinuousBag(OfVectors):
    """CBOW: the words' vectors are added. Hidden layers may read their sum (deep CBOW), or their mean (averaging)."""

    def __init__(self, words: int, layers: int = 0, *, averaged: bool = False) -> None:
        super().__init__(words, WIDTH)
        self.layers = nn.ModuleList(nn.Linear(WIDTH, WIDTH) for _ in range(layers))
        self.averaged = averaged
        nn.init.normal_(self.vectors.weight, std=0.1)

    def features(self, vectors: Tensor, seen: Tensor) -> Tensor:
        """The sum or mean, or what the last hidden layer makes of it."""
        if self.averaged and self.training:
            # Iyyer et al. leave whole words out while they train.
            seen = seen & (torch.rand(seen.shape, device=seen.device) > DROPOUT / 2)
        found = (vectors * seen[..., None]).sum(dim=1)
        if self.averaged:
            found = found / seen.sum(dim=1, keepdim=True).clamp(min=1)
        for layer in self.layers:
            found = functional.relu(layer(found)) if self.averaged else torch.tanh(layer(found))
        return found


class Convolution(OfVectors):
    """Kim's network: filters slide over spans of two to four words, and of each its strongest place counts."""

    def __init__(self, words: int) -> None:
        super().__init__(words, FILTERS * len(SPANS))
        self.filters = nn.ModuleList(nn.Conv1d(WIDTH, FILTERS, span, padding=span - 1) for span in SPANS)
        nn.init.normal_(self.vectors.weight, std=0.1)

    def features(self, vectors: Tensor, seen: Tensor) -> Tensor:
        """Each filter's greatest value over all spans that hold a word: max over time."""
        vectors = vectors * seen[..., None]
        return torch.cat([each.amax(dim=2) for each in self.places(vectors, seen.sum(dim=1))], dim=1)

    def places(self, vectors: Tensor, lengths: Tensor) -> list[Tensor]:
        """For each size of span, the filters' values `[row, filter, place]`; place p is of the span that ends at p."""
        found = []
        for span, layer in zip(SPANS, self.filters, strict=True):
            values = functional.relu(layer(vectors.transpose(1, 2)))
            beyond = torch.arange(values.shape[2], device=values.device) >= (lengths + span - 1)[:, None]
            found.append(values.masked_fill(beyond[:, None], 0.0))
        return found


class Recurrent(OfVectors):
    """An Elman network or an LSTM: its last state is what it remembers of the text; it may read both ways."""

    def __init__(self, words: int, cell: type[nn.RNNBase], *, both_ways: bool = False) -> None:
        super().__init__(words, STATES * (1 + both_ways))
        self.cell = cell(WIDTH, STATES, batch_first=True, bidirectional=both_ways)  # type: ignore[call-arg,arg-type]
        nn.init.normal_(self.vectors.weight, std=0.1)

    def features(self, vectors: Tensor, seen: Tensor) -> Tensor:
        """The last state; of both ways, that after the last word and that, read backwards, after the first."""
        states, size = states_of(self.cell, vectors, seen), self.cell.hidden_size
        last = states[torch.arange(len(states)), seen.sum(dim=1) - 1]
        return torch.cat([last[:, :size], states[:, 0, size:]], dim=1)


def states_of(cell: nn.RNNBase, vectors: Tensor, seen: Tensor) -> Tensor:
    """The states `[row, word, state]` of `cell` after each word; if it reads both ways, the backward ones last."""
    packed = pack_padded_sequence(vectors, seen.sum(dim=1).cpu(), batch_first=True, enforce_sorted=False)
    states, _ = pad_packed_sequence(cell(packed)[0], batch_first=True, total_length=vectors.shape[1])
    return states


class LanguageModel(nn.Module):
    """Two LSTMs, side by side: the one reads forwards and guesses the next word, the other backwards the one before.

    Both share the words' vectors, by which guesses are also scored.
    """

    def __init__(self, words: int) -> None:
        super().__init__()
        self.vectors = nn.Embedding(words, WIDTH, padding_idx=PAD)
        nn.init.normal_(self.vectors.weight, std=0.1)
        self.cell = nn.LSTM(WIDTH, LANGUAGE_STATES, batch_first=True, bidirectional=True)
        self.guess = nn.ModuleList(nn.Linear(LANGUAGE_STATES, WIDTH) for _ in range(2))
        self.bias = nn.Parameter(torch.zeros(words))


class FineTuned(OfVectors):
    """ULMFiT's idea: the forward half of the language model goes on learning, now to classify.

    Its features are the last state, the mean and the greatest of all states (concat pooling).
    """

    def __init__(self, words: int) -> None:
        super().__init__(words, 3 * LANGUAGE_STATES)
        self.cell = nn.LSTM(WIDTH, LANGUAGE_STATES, batch_first=True)

    def features(self, vectors: Tensor, seen: Tensor) -> Tensor:
        """What is pooled."""
        states, lengths = states_of(self.cell, vectors, seen), seen.sum(dim=1)
        last = states[torch.arange(len(states)), lengths - 1]
        mean = (states * seen[..., None]).sum(dim=1) / lengths[:, None]
        return torch.cat([last, mean, states.masked_fill(~seen[..., None], -torch.inf).amax(dim=1)], dim=1)


class Frozen(OfVectors):
    """ELMo's idea: each word is its vector and both states of a language model that stays as it is.

    Only what reads them learns: a layer of features, of which the mean over the words counts.
    """

    def __init__(self, words: int) -> None:
        super().__init__(words, FROZEN_FEATURES)
        # The language model has never seen words of which so much is missing.
        self.dropout = nn.Dropout(DROPOUT / 4)
        self.cell = nn.LSTM(WIDTH, LANGUAGE_STATES, batch_first=True, bidirectional=True)
        self.layer = nn.Linear(WIDTH + 2 * LANGUAGE_STATES, FROZEN_FEATURES)

    def features(self, vectors: Tensor, seen: Tensor) -> Tensor:
        """The mean over the words of their features."""
        return (self.of_words(vectors, seen) * seen[..., None]).sum(dim=1) / seen.sum(dim=1, keepdim=True)

    def of_words(self, vectors: Tensor, seen: Tensor) -> Tensor:
        """The features `[row, word, feature]` of each word where it stands."""
        return functional.relu(self.layer(torch.cat([vectors, states_of(self.cell, vectors, seen)], dim=2)))


@dataclass(frozen=True)
class Generation:
    """A network by its `key` in files, when and where its idea was published, and how it is made for `size` features.

    One that is `pretrained` begins as the language model and knows the words of both texts, others those of sst2 alone.
    """

    key: str
    name: str
    year: int
    paper: str
    make: Callable[[int], nn.Module]
    pretrained: bool = False


GENERATIONS = (
    Generation("bag_of_words", Sentence("Bag of words"), 1954, "Harris, 1954", Bag),
    Generation("bag_of_ngrams", Sentence("Bag of n-grams"), 2012, "Wang and Manning, 2012", Bag),
    Generation("cbow", Sentence("CBOW"), 2013, "Mikolov et al., 2013", ContinuousBag),
    Generation("deep_cbow", Sentence("Deep CBOW"), 2013, Sentence("Mikolov et al., 2013, with hidden layers"),
               lambda words: ContinuousBag(words, HIDDEN_LAYERS)),
    Generation("deep_averaging", Sentence("Deep averaging network"), 2015, "Iyyer et al., 2015",
               lambda words: ContinuousBag(words, HIDDEN_LAYERS, averaged=True)),
    Generation("convolution", Sentence("Convolution"), 2014, "Kim, 2014", Convolution),
    Generation("elman", Sentence("Elman network"), 1990, "Elman, 1990", lambda words: Recurrent(words, nn.RNN)),
    Generation("lstm", Sentence("LSTM"), 1997, "Hochreiter and Schmidhuber, 1997",
               lambda words: Recurrent(words, nn.LSTM)),
    Generation("bilstm", Sentence("Bidirectional LSTM"), 2005, "Graves and Schmidhuber, 2005",
               lambda words: Recurrent(words, nn.LSTM, both_ways=True)),
    Generation("fine_tuned", Sentence("LSTM, pre-trained and fine-tuned"), 2018, "Howard and Ruder, 2018 (ULMFiT)",
               FineTuned, pretrained=True),
    Generation("frozen", Sentence("Frozen vectors of a language model"), 2018, "Peters et al., 2018 (ELMo)", Frozen,
               pretrained=True),
)  # fmt: skip
"""Every network before BERT, in the order of the lectures."""
