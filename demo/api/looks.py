"""The endpoints that look into a run (attention, heads, tokens, what-if changes) and inside any model."""

import time
from typing import Any, Literal

import gradio as gr
import numpy as np

from demo.api.callers import add_endpoint, run_to_read, short_text, truth
from demo.api.contract.answers import SHAPES, answer_of, answered, shaped
from demo.api.contract.looks import (
    AttentionRows,
    Attributed,
    Comparison,
    HeadRoles,
    InsideNumbers,
    Sheet,
)
from demo.fields import INSIDE_FIELDS
from demo.limits import clean_fields, whole_number
from demo.log.run import Run
from demo.looks import Changed
from demo.plots import sheet
from demo.runs import AttentionSource, DemoService
from demo.settings import MODEL_QUEUE
from demo.walk.view import InsideRequest
from models.errors import InputError
from models.explain.aggregation import agreement, reduce
from models.explain.head_roles import head_roles as roles_of_heads
from models.outputs.attention import MEAN, Attention
from models.registry import Task, find
from models.text.words import merge_words, word_text, words_of
from models.wording import Sentence


def add_look_endpoints(service: DemoService) -> None:
    """Add the endpoints that take the run_id of an earlier answer, and the one that looks inside any model."""

    def run_of(request: gr.Request, run_id: str) -> tuple[Run, AttentionSource]:
        run = run_to_read(service, request, run_id)
        return run, service.source_of(run)

    def attention_of(request: gr.Request, run_id: str, kind: str) -> tuple[dict[str, Any], Attention]:
        """The fields that all answers about that kind of attention share, and the attention; "" is the first kind."""
        kind = short_text(kind, Sentence("The kind"), "kind")
        run, source = run_of(request, run_id)
        attentions = service.attention(source)
        if kind and kind not in attentions:
            raise InputError(
                Sentence("This run has no such attention; it has: {kinds}.", kinds=", ".join(attentions)), "kind"
            )
        chosen = attentions[kind or next(iter(attentions))]
        return {**answered(run, logged=service.is_kept(run)), "kind": chosen.kind, "kinds": list(attentions)}, chosen

    def attention(
        request: gr.Request,
        run_id: str,
        kind: str = "",
        layer: int = MEAN,
        head: int = MEAN,
        words: bool = False,
        how: Literal["head", "mean", "maximum", "rollout"] = "head",
    ) -> AttentionRows:
        """Show what the model looked at in a run: the attention weights of one layer and head, or of many together.

        Args:
            run_id: The run_id of an earlier answer.
            kind: encoder, decoder or cross, as the run has them; empty for the most telling one.
            layer: The layer, counted from 0; -1 for all.
            head: The head, counted from 0; -1 for the mean over all.
            words: True to merge the pieces of words into words.
            how: head for that layer and head; mean or maximum over all heads; rollout for attention through the layers.
        """
        words, way = truth(words, Sentence("The choice of words"), "words"), short_text(how, Sentence("The way"), "how")
        layer, head = _place(layer, head)
        shared, chosen = attention_of(request, run_id, kind)
        weights = reduce(chosen, way, layer, head)
        queries, keys = chosen.query_tokens, chosen.key_tokens
        if words:
            of_queries, of_keys = words_of(queries), words_of(keys)
            weights = merge_words(weights, of_queries, of_keys)
            shared["query_tokens"] = [word_text(queries, word) for word in of_queries]
            shared["key_tokens"] = [word_text(keys, word) for word in of_keys]
        return shaped(
            AttentionRows,
            chosen,
            **shared,
            weights=weights.astype(np.float64),
        )

    def attention_sheet(request: gr.Request, run_id: str, kind: str = "", dark: bool = False) -> Sheet:
        """Draw the attention of all heads in a run as one small picture: layers as rows, heads as columns.

        Args:
            run_id: The run_id of an earlier answer.
            kind: encoder, decoder or cross, as the run has them; empty for the most telling one.
            dark: True for a picture on a dark ground.
        """
        dark = truth(dark, Sentence("The choice of a dark ground"), "dark")
        shared, chosen = attention_of(request, run_id, kind)
        image = sheet.data_uri(sheet.attention_sheet(chosen, dark))
        return shaped(Sheet, sheet.sheet_geometry(chosen), **shared, image=image)

    def head_roles(request: gr.Request, run_id: str, kind: str = "") -> HeadRoles:
        """Tell what each head does in a run: looks at the previous token, the separator, broadly, and so on.

        Args:
            run_id: The run_id of an earlier answer.
            kind: encoder, decoder or cross, as the run has them; empty for the most telling one.
        """
        shared, chosen = attention_of(request, run_id, kind)
        return shaped(HeadRoles, chosen, **shared, roles=roles_of_heads(chosen))

    def attribution(request: gr.Request, run_id: str, target: str = "") -> Attributed:
        """Tell what each token did for the answer of a run: integrated gradients, in units of the answer's logit.

        Args:
            run_id: The run_id of an earlier answer of any task but translation.
            target: Empty for what was answered; a label; start or end of an answer; a word, or #2 for the second blank.
        """
        run, source = run_of(request, run_id)
        found = service.attribution(source, target)
        first = next(iter(service.attention(source).values()))
        agreed = agreement(found, first.matrix(), first.masked)
        return shaped(Attributed, found, **answered(run, logged=service.is_kept(run)), agreement=agreed)

    def ablate(request: gr.Request, run_id: str, layer: int, head: int = MEAN, kind: str = "") -> Comparison:
        """Answer again with one head of the model switched off, or all heads of a layer, and compare.

        Args:
            run_id: The run_id of an earlier answer.
            layer: The layer, counted from 0.
            head: The head, counted from 0; -1 for all heads of the layer.
            kind: encoder, decoder or cross, as the run has them; empty for the most telling one.
        """
        layer, head = _place(layer, head)
        kind = short_text(kind, Sentence("The kind"), "kind")
        run, source = run_of(request, run_id)
        return _comparison(run, service.ablate(source, layer, head, kind), logged=service.is_kept(run))

    def replace_token(request: gr.Request, run_id: str, position: int, token: str) -> Comparison:
        """Answer again with another word in the place of one token, and compare.

        Args:
            run_id: The run_id of an earlier answer.
            position: The token's place among those that the model read, counted from 0.
            token: The new word; [MASK] for a blank, where the model knows one.
        """
        position = whole_number(position, Sentence("The position"), "position")
        run, source = run_of(request, run_id)
        return _comparison(run, service.replace_token(source, position, token), logged=service.is_kept(run))

    def inside(
        text: str, layer: int = 0, head: int = 0, position: int = -1, checkpoint: str = "", kind: str = ""
    ) -> InsideNumbers:
        """Look inside a model while it reads: one attention head step by step, and the guess after every layer.

        Args:
            text: The text; an encoder reads "[CLS] one [SEP] another [SEP]" as a pair and fills [MASK].
            layer: The layer, counted from 0.
            head: The head, counted from 0.
            position: The token to follow, from 0; -1 for the one that the guess is about, or else the last word.
            checkpoint: The name of a checkpoint of any task; empty for the bundled one that fills blanks.
            kind: encoder or decoder, for a translator; its decoder, in front, reads the translation it wrote.
        """
        started = time.perf_counter()
        kind, checkpoint = (
            short_text(kind, Sentence("The kind"), "kind"),
            short_text(checkpoint, Sentence("The checkpoint"), "checkpoint"),
        )
        text = str(clean_fields(INSIDE_FIELDS, {"text": text}, service.settings.limits)["text"])
        layer, head = _place(layer, head)
        position = whole_number(position, Sentence("The position"), "position")
        found = find(checkpoint or Task.FILL_MASK.endpoint).name
        seen = service.inside.look(InsideRequest("", text, found, layer, head, position), kind)
        numbers, place, lens = seen.numbers, seen.position, seen.lens
        # The row of the token that is followed.
        rows = {name: getattr(numbers, name)[place] for name in ("scores", "scaled", "masked", "weights")}
        return shaped(
            InsideNumbers,
            seen,
            **rows,
            duration_ms=round((time.perf_counter() - started) * 1000, 1),
            query=numbers.queries[place],
            keys=numbers.keys,
            values=numbers.values,
            divisor=numbers.divisor,
            output=numbers.outputs[place],
            guesses_about=lens.about if lens else "",
            guesses_by_layer=lens.layers if lens else [],
        )

    for endpoint in (attention, attention_sheet, head_roles, attribution, ablate, replace_token, inside):
        add_endpoint(endpoint, concurrency_id=MODEL_QUEUE, concurrency_limit=service.settings.concurrency)


def _place(layer: object, head: object) -> tuple[int, int]:
    return whole_number(layer, Sentence("The layer"), "layer"), whole_number(head, Sentence("The head"), "head")


def _comparison(run: Run, changed: Changed, *, logged: bool) -> Comparison:
    shape, shared = SHAPES[run.task], answered(run, logged=logged)
    answers = [answer_of(shape, run, each, logged=logged) for each in (changed.before, changed.after)]
    before, after = ({name: value for name, value in each.items() if name not in shared} for each in answers)
    return {**shared, "before": before, "after": after, "changed": _said(before) != _said(after)}


def _said(answer: dict[str, Any]) -> object:
    """The part of an answer that is compared: its words without its numbers."""
    match answer:
        case {"label": label}:
            return label
        case {"entailment": entailment}:
            return max(entailment, key=entailment.get)
        case {"by_follows": order}:
            return order
        case {"sequences": sequences}:
            return sequences[:1]
        case {"answered": answered, "answers": answers}:
            return answers[0]["text"] if answered else None
        case {"rows": rows}:
            return [each["label"] for each in rows]
        case {"entities": entities}:
            return [(each["text"], each["label"]) for each in entities]
        case {"fitting_words": fitting}:
            return [words[0]["token"] for words in fitting]
        case {"perplexity": _, "tokens": tokens}:
            return [each["rather"][:1] and each["rather"][0]["token"] for each in tokens]
        case {"machine": machine}:
            return machine >= 0.5
        case {"translations": translations}:
            return translations[0]["text"]
        case {"predictions": predictions}:
            return [each["label"] for each in predictions]
        case _:
            return answer["text"]
