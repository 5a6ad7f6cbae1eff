"""The endpoints that look into a run: its attention, what its heads do, what its tokens did, and what if."""

from typing import Literal

import gradio as gr

from demo.api import contract
from demo.api.endpoint import add_endpoint, run_to_read, short_text, truth
from demo.limits import whole_number
from demo.log.run import Run
from demo.runs import AttentionSource, DemoService
from demo.settings import MODEL_QUEUE
from models.outputs import MEAN


def add_inspection_endpoints(service: DemoService) -> None:
    """Add the endpoints that take the run_id of an earlier answer."""

    def run_of(request: gr.Request, run_id: str) -> tuple[Run, AttentionSource]:
        run = run_to_read(service, request, run_id)
        return run, service.source_of(run)

    def attention(
        request: gr.Request,
        run_id: str,
        kind: str = "",
        layer: int = MEAN,
        head: int = MEAN,
        words: bool = False,
        how: Literal["head", "mean", "maximum", "rollout"] = "head",
    ) -> contract.AttentionRows:
        """Show what the model looked at in a run: the attention weights of one layer and head, or of many together.

        Args:
            run_id: The run_id of an earlier answer.
            kind: encoder, decoder or cross, as the run has them; empty for the most telling one.
            layer: The layer, counted from 0; -1 for all.
            head: The head, counted from 0; -1 for the mean over all.
            words: True to merge the pieces of words into words.
            how: head for that layer and head; mean or maximum over all heads; rollout for attention through the layers.
        """
        words = truth(words, "The choice of words", "words")
        how_named, kind = short_text(how, "The way", "how"), short_text(kind, "The kind", "kind")
        layer, head = whole_number(layer, "The layer", "layer"), whole_number(head, "The head", "head")
        run, source = run_of(request, run_id)
        return contract.attention_rows(run, service.attention(source), kind, layer, head, words, how_named)

    def attention_sheet(request: gr.Request, run_id: str, kind: str = "", dark: bool = False) -> contract.Sheet:
        """Draw the attention of all heads in a run as one small picture: layers as rows, heads as columns.

        Args:
            run_id: The run_id of an earlier answer.
            kind: encoder, decoder or cross, as the run has them; empty for the most telling one.
            dark: True for a picture on a dark ground.
        """
        dark, kind = truth(dark, "The choice of a dark ground", "dark"), short_text(kind, "The kind", "kind")
        run, source = run_of(request, run_id)
        return contract.sheet(run, service.attention(source), kind, dark)

    def head_roles(request: gr.Request, run_id: str, kind: str = "") -> contract.HeadRoles:
        """Tell what each head does in a run: looks at the previous token, the separator, broadly, and so on.

        Args:
            run_id: The run_id of an earlier answer.
            kind: encoder, decoder or cross, as the run has them; empty for the most telling one.
        """
        kind = short_text(kind, "The kind", "kind")
        run, source = run_of(request, run_id)
        return contract.roles(run, service.attention(source), kind)

    def attribution(request: gr.Request, run_id: str, target: str = "") -> contract.Attributed:
        """Tell what each token did for the answer of a run: integrated gradients, in units of the answer's logit.

        Args:
            run_id: The run_id of an earlier answer of any task but translation.
            target: Empty for what was answered; a label; start or end of an answer; a word, or #2 for the second blank.
        """
        run, source = run_of(request, run_id)
        found = service.attribution(source, target)
        return contract.attributed(run, found, service.attention(source))

    def ablate(request: gr.Request, run_id: str, layer: int, head: int = MEAN, kind: str = "") -> contract.Comparison:
        """Answer again with one head of the model switched off, or all heads of a layer, and compare.

        Args:
            run_id: The run_id of an earlier answer.
            layer: The layer, counted from 0.
            head: The head, counted from 0; -1 for all heads of the layer.
            kind: encoder, decoder or cross, as the run has them; empty for the most telling one.
        """
        layer, head = whole_number(layer, "The layer", "layer"), whole_number(head, "The head", "head")
        kind = short_text(kind, "The kind", "kind")
        run, source = run_of(request, run_id)
        return contract.comparison(run, service.ablate(source, layer, head, kind))

    def replace_token(request: gr.Request, run_id: str, position: int, token: str) -> contract.Comparison:
        """Answer again with another word in the place of one token, and compare.

        Args:
            run_id: The run_id of an earlier answer.
            position: The token's place among those that the model read, counted from 0.
            token: The new word; [MASK] for a blank, where the model knows one.
        """
        position = whole_number(position, "The position", "position")
        run, source = run_of(request, run_id)
        return contract.comparison(run, service.replace_token(source, position, token))

    for endpoint in (attention, attention_sheet, head_roles, attribution, ablate, replace_token):
        add_endpoint(endpoint, concurrency_id=MODEL_QUEUE, concurrency_limit=service.settings.concurrency)
