"""The sentiment of a sentence by eleven models from before Transformers and by BERT, and how they arrive at it."""

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from models import before
from models.before.words import UNKNOWN, Word, words_in, words_of
from models.engine import Logits
from models.errors import InputError
from models.outputs.before import POSITIVE, GenerationRow, GenerationsOutput, GenerationsReading, Reach
from models.tasks.text_classification import EncodedText, TextClassification, TextClassificationInput
from models.text.characters import says_anything

if TYPE_CHECKING:
    from models.before.weights import Networks

BERT = "bert"
REACHES = ("elman", "lstm")
"""The earlier models whose gradient is followed back to each word."""


@dataclass(frozen=True)
class GenerationsInput(TextClassificationInput):
    """A text to classify and, optionally, a `changed` version of it to compare with."""

    changed: str = ""


class Generations(TextClassification):
    """A sentence classifier together with all earlier generations of models; its own answer is the last row."""

    inputs_type = GenerationsInput

    @property
    def networks(self) -> "Networks":
        """The earlier models. They need torch, which loading `network` imports in one thread at a time."""
        _ = self.network
        from models.before.weights import load_networks

        return load_networks(before.FOLDER)

    def preprocess(self, inputs: TextClassificationInput) -> EncodedText:
        """Tokenize the text; raises `InputError` if it is empty, or if it or the changed text exceeds the window."""
        changed = getattr(inputs, "changed", "")
        if not isinstance(changed, str) or says_anything(changed):
            try:
                super().preprocess(TextClassificationInput(changed))
            except InputError as error:
                raise InputError(error.sentence, "changed") from error
        return super().preprocess(inputs)

    def postprocess(self, inputs: TextClassificationInput, encoded: EncodedText, raw: Logits) -> GenerationsOutput:
        """Return a row for each of `GENERATIONS`, in their order, and then BERT's."""
        from models.before.networks import GENERATIONS

        changed = getattr(inputs, "changed", "")
        texts = [inputs.text, *([changed] if says_anything(changed) else [])]
        spelt, measured, networks = [words_of(text) for text in texts], before.figures(before.FOLDER), self.networks
        rows = []
        for each in GENERATIONS:
            network = networks.by_key[each.key]
            shares = [1 / (1 + math.exp(-networks.log_odds(each, words))) for words in spelt]
            size, accuracy = sum(weight.numel() for weight in network.parameters()), measured["accuracy"].get(each.key)
            rows.append(GenerationRow(each.key, each.name, each.year, each.paper, size, accuracy, *shares))
        own = super().postprocess(inputs, encoded, raw)
        last = [own, *(super(Generations, self).answer(TextClassificationInput(text)) for text in texts[1:])]
        shares = [next(each.score for each in answer.scores if each.text == POSITIVE) for answer in last]
        accuracy = measured["accuracy"].get(BERT) if not self.checkpoint.hub_id else None
        name, size = f"BERT ({self.checkpoint.title})", self.checkpoint.parameters
        rows.append(GenerationRow(BERT, name, 2019, "Devlin et al., 2019", size, accuracy, *shares))
        known = networks.vocabulary.ids(spelt[0])
        unknown = dict.fromkeys(word for word, place in zip(spelt[0], known, strict=True) if place == UNKNOWN)
        return GenerationsOutput(own.checkpoint, own.tokens, own.label, own.scores, tuple(rows), tuple(unknown))

    def read(self, inputs: TextClassificationInput) -> GenerationsReading:
        """Explain each earlier model's answer, and measure how far back the answer's gradient reaches."""
        networks = self.networks
        from models.before.networks import GENERATIONS
        from models.before.reading import reach, read
        from models.before.weights import untrained

        places = words_in(inputs.text)
        words = [word.text for word in places]
        readings = tuple(read(networks, each, words) for each in GENERATIONS)
        ids = networks.vocabulary.ids(words)
        reaches = [Reach(key, reach(networks.by_key[key], ids)) for key in REACHES]
        fresh = tuple(
            Reach(each.key, reach(untrained(each, networks.vocabulary.taught), ids))
            for each in GENERATIONS
            if each.key in REACHES
        )
        named = tuple(inputs.text[word.start : word.end] for word in places)
        return GenerationsReading(named, readings, (*reaches, Reach(BERT, self._reach(inputs, places))), fresh)

    def _reach(self, inputs: TextClassificationInput, places: list[Word]) -> tuple[float, ...]:
        """The L2 norm of the gradient of BERT's log-odds at each word, over the vectors of its pieces.

        The exact network computes it.
        """
        import torch

        encoded, network = self.preprocess(inputs), self.network
        positive = self.settings.labels.index(POSITIVE)
        ids = self.tensor(encoded.ids)
        with self.lock, torch.enable_grad():
            vectors = network.get_input_embeddings()(ids).detach().requires_grad_()
            logits: Any = network(inputs_embeds=vectors).logits[0]
            (gradient,) = torch.autograd.grad(2 * logits[positive] - logits.sum(), vectors)
        squares = gradient[0].square().sum(dim=1).tolist()
        pieces = [(token.start, square) for token, square in zip(encoded.tokens, squares, strict=True)]
        return tuple(
            math.sqrt(sum(square for start, square in pieces if word.start <= start < word.end)) for word in places
        )
