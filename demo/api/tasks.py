"""The endpoints of the tasks and of a session, for `gradio_client`, curl and MCP alike."""

from typing import Literal, cast

import gradio as gr

from demo.api import contract
from demo.api.decoder import add_decoder_endpoints
from demo.api.endpoint import add_endpoint, required_session_of, session_to_log, short_text
from demo.api.looks import add_inspection_endpoints
from demo.api.walk import add_inside_endpoints
from demo.limits import whole_number
from demo.log.export import LoggedRun, public_fields
from demo.runs import RUNS_OF_A_PAGE, DemoService
from demo.settings import MODEL_QUEUE
from models.errors import InputError
from models.outputs import (
    CompletionOutput,
    FillMaskOutput,
    QuestionAnsweringOutput,
    SentimentOutput,
    TranslationOutput,
)
from models.registry import Task


def add_endpoints(service: DemoService) -> None:
    """Add every endpoint to the page that is being built; call it before the tabs, which may not take their names."""
    _add_task_endpoints(service)
    add_inspection_endpoints(service)
    add_decoder_endpoints(service)
    add_inside_endpoints(service)
    _add_session_endpoints(service)


def _add_task_endpoints(service: DemoService) -> None:
    def fill_mask(
        request: gr.Request, text: str, top_k: int = 5, checkpoint: str = "", word: str = ""
    ) -> contract.FilledMasks:
        """Fill the blanks of a text with the likeliest tokens (BERT's masked language model).

        Args:
            text: The text, with [MASK] wherever a word is missing.
            top_k: How many candidates per blank, from 1 to 20.
            checkpoint: The name of a checkpoint; empty for the bundled one.
            word: A word of your own, whose probability and rank at each blank you want to know.
        """
        fields = {"text": text, "top_k": top_k, "word": word}
        done = service.run(session_to_log(service, request), Task.FILL_MASK, fields, checkpoint)
        return contract.filled_masks(done.run, cast(FillMaskOutput, done.output))

    def sentiment(request: gr.Request, text: str, checkpoint: str = "") -> contract.Sentiment:
        """Tell whether a text praises or blames: the probability of each label (BERT, fine-tuned).

        Args:
            text: The text to judge.
            checkpoint: The name of a checkpoint; empty for the bundled one.
        """
        done = service.run(session_to_log(service, request), Task.SENTIMENT, {"text": text}, checkpoint)
        return contract.sentiment(done.run, cast(SentimentOutput, done.output))

    def question_answering(
        request: gr.Request, question: str, context: str, top_k: int = 3, checkpoint: str = ""
    ) -> contract.FoundAnswers:
        """Find the answer to a question in a text, word for word (BERT, fine-tuned).

        Args:
            question: The question.
            context: The text that may hold the answer; a long one is read in overlapping windows.
            top_k: How many answers, from 1 to 10.
            checkpoint: The name of a checkpoint; empty for the bundled one.
        """
        fields = {"question": question, "context": context, "top_k": top_k}
        done = service.run(session_to_log(service, request), Task.QUESTION_ANSWERING, fields, checkpoint)
        return contract.found_answers(done.run, cast(QuestionAnsweringOutput, done.output))

    def translation(request: gr.Request, text: str, num_beams: int = 4, checkpoint: str = "") -> contract.Translations:
        """Translate a text, English to French unless the checkpoint says otherwise (encoder-decoder, beam search).

        Args:
            text: The text to translate.
            num_beams: How many candidates the beam search keeps, from 1 (greedy search) to 8.
            checkpoint: The name of a checkpoint; empty for the bundled one.
        """
        fields = {"text": text, "num_beams": num_beams}
        done = service.run(session_to_log(service, request), Task.TRANSLATION, fields, checkpoint)
        return contract.translations(done.run, cast(TranslationOutput, done.output))

    def completion(
        request: gr.Request,
        prompt: str,
        max_new_tokens: int = 40,
        strategy: Literal["greedy", "beam", "sample"] = "sample",
        temperature: float = 0.8,
        top_k: int = 50,
        top_p: float = 0.95,
        num_beams: int = 4,
        seed: int = 0,
        checkpoint: str = "",
        loop_guard: int = 4,
    ) -> contract.Completion:
        """Write on after a prompt, token by token (GPT-2's architecture). The same seed gives the same text.

        Args:
            prompt: The text to continue; empty to start from nothing.
            max_new_tokens: The most tokens to write, from 1 to 200.
            strategy: How each next token is chosen: greedy, beam or sample.
            temperature: For sample: below 1 the likeliest tokens gain, above 1 the others, from 0.05 to 5.
            top_k: For sample: choose among the k likeliest tokens; 0 for all.
            top_p: For sample: choose among the likeliest tokens that make up this probability, from 0.01 to 1.
            num_beams: For beam: how many texts are kept, from 1 to 8.
            seed: For sample: the random seed.
            checkpoint: The name of a checkpoint; empty for the bundled one.
            loop_guard: For sample: so many tokens in a row are drawn no third time, from 0 (let them) to 20.
        """
        fields = {
            "prompt": prompt,
            "max_new_tokens": max_new_tokens,
            "strategy": strategy,
            "temperature": temperature,
            "top_k": top_k,
            "top_p": top_p,
            "num_beams": num_beams,
            "seed": seed,
            "loop_guard": loop_guard,
        }
        done = service.run(session_to_log(service, request), Task.COMPLETION, fields, checkpoint)
        return contract.completion(done.run, cast(CompletionOutput, done.output))

    for endpoint in (fill_mask, sentiment, question_answering, translation, completion):
        add_endpoint(endpoint, concurrency_id=MODEL_QUEUE, concurrency_limit=service.settings.concurrency)


def _add_session_endpoints(service: DemoService) -> None:
    def session_runs(request: gr.Request, limit: int = RUNS_OF_A_PAGE, offset: int = 0) -> list[LoggedRun]:
        """List the runs of this client's session, failed ones too, newest first, a page of them at a time.

        Args:
            limit: How many runs, from 1 to 50.
            offset: How many of the newest runs to pass over: 50 for the second page of 50.
        """
        session_id = required_session_of(request)
        most, skip = whole_number(limit, "The limit", "limit"), whole_number(offset, "The offset", "offset")
        if not 1 <= most <= RUNS_OF_A_PAGE:
            raise InputError(f"The limit must be from 1 to {RUNS_OF_A_PAGE}.", "limit")
        if skip < 0:
            raise InputError("The offset must be 0 or more.", "offset")
        return [public_fields(run) for run in service.history(session_id, most, skip)]

    def session_delete(request: gr.Request, run_id: str) -> bool:
        """Delete one run of this client's session; true if it was there.

        Args:
            run_id: The run_id of an earlier answer.
        """
        return service.delete(short_text(run_id, "The run id", "run_id"), required_session_of(request))

    def session_delete_all(request: gr.Request) -> int:
        """Delete every run of this client's session; the number of runs that it had."""
        return service.delete_all(required_session_of(request))

    def session_export(request: gr.Request, format: Literal["csv", "json"] = "csv") -> str:
        """Export the runs of this client's session as the text of a CSV or JSON file.

        Args:
            format: csv or json.
        """
        exports = {"csv": service.export_csv, "json": service.export_json}
        if not isinstance(format, str) or format not in exports:
            raise InputError("The format must be csv or json.", "format")
        return exports[format](required_session_of(request))

    for endpoint in (session_runs, session_delete, session_delete_all, session_export):
        # MCP callers share one client, so that a session there would be everybody's: these are no tools.
        vars(endpoint)["_mcp_type"] = "none"
        add_endpoint(endpoint, queue=False)
