"""The endpoints of the tasks and of a session, and how a function becomes an endpoint."""

import hashlib
from collections.abc import Callable
from typing import Any, Literal
from urllib.parse import unquote_to_bytes

import gradio as gr

from demo.api import contract
from demo.events import for_callers
from demo.limits import plain_text, whole_number
from demo.log.export import LoggedRun, public_fields
from demo.log.run import Run, owner, with_wish
from demo.runs import NO_SUCH_RUN, RUNS_OF_A_PAGE, DemoService, fork_fields
from demo.settings import MODEL_QUEUE
from demo.web.visitors import SESSION_HEADER
from models.errors import InputError
from models.registry import Task

_ID_CHARACTERS = 64
# What Gradio's clients make up has 10 or more.
_LEAST_SECRET_CHARACTERS = 10
_ONCE = "once-"
"""How the session of a call begins that came without one, as curl's does."""


def add_endpoint(endpoint: Callable[..., Any], **options: Any) -> None:
    """Add `endpoint` under its own name to the page that is being built; its errors reach callers as one sentence."""
    gr.api(for_callers(endpoint), api_name=endpoint.__name__, **options)  # type: ignore[attr-defined]


def session_of(request: gr.Request) -> str | None:
    """The session of an API caller: made from the hash that its client sends, and never one of the page's.

    Whoever knows the hash can read the session, so one that is short enough to be guessed makes none.
    """
    session_hash = unquote_to_bytes(request.headers.get(SESSION_HEADER, ""))
    if len(session_hash) < _LEAST_SECRET_CHARACTERS:
        return None if _keeps(request) else with_wish("", keep=False)
    return with_wish("api-" + hashlib.sha256(session_hash).hexdigest()[:40], _keeps(request))


def session_to_log(service: DemoService, request: gr.Request) -> str:
    """The session that a run of this caller is logged under; one of its own for a call that came without any."""
    return session_of(request) or _ONCE + service.new_session()


def run_to_read(service: DemoService, request: gr.Request, run_id: str) -> Run:
    """The run of that id, if this caller may look into it; raises `InputError`.

    A run of a session is that session's alone. One that was asked for without a session has only its id, which nobody
    can guess, and is its who knows that.
    """
    run = service.get(short_text(run_id, "The run id", "run_id"))
    if run.session_id.startswith(_ONCE) or owner(run.session_id) == owner(session_of(request) or ""):
        return run
    raise InputError(NO_SUCH_RUN, "run_id")


def _keeps(request: gr.Request) -> bool:
    """Whether the caller's runs are to be kept: the header `X-Clearhead-Keep: no` says that they are not."""
    headers = getattr(request, "headers", None) or {}
    return str(headers.get("x-clearhead-keep", "")).strip().lower() not in ("no", "0", "false")


def required_session_of(request: gr.Request) -> str:
    """The session of a caller who must have one; raises `InputError`."""
    session_id = session_of(request)
    if session_id is None or not owner(session_id):
        raise InputError("This endpoint needs a session: call it through a client that keeps one.")
    return session_id


def short_text(value: object, label: str, field: str) -> str:
    """`value` if it is a text of a name's length; raises `InputError`."""
    if isinstance(value, str) and len(value) > _ID_CHARACTERS:
        raise InputError(f"{label} is too long.", field)
    return plain_text(value, label, field)


def truth(value: object, label: str, field: str) -> bool:
    """`value` if it is true or false; raises `InputError` for anything else."""
    if not isinstance(value, bool):
        raise InputError(f"{label} must be true or false.", field)
    return value


def add_endpoints(service: DemoService) -> None:
    """Add every endpoint to the page that is being built; call it before the tabs, which may not take their names."""
    _add_task_endpoints(service)
    _add_decoder_endpoints(service)
    _add_session_endpoints(service)


def _add_task_endpoints(service: DemoService) -> None:
    def run(
        shape: Callable[..., contract.Shape], request: gr.Request, checkpoint: str, **fields: Any
    ) -> contract.Shape:
        (task,) = (task for task, each in contract.SHAPES.items() if each is shape)
        done = service.run(session_to_log(service, request), task, fields, checkpoint)
        return contract.answer_of(shape, done.run, done.output)

    def fill_mask(
        request: gr.Request, text: str, top_k: int = 5, checkpoint: str = "", word: str = ""
    ) -> contract.FilledMasks:
        """Fill the blanks of a text with the likeliest tokens (BERT's masked language model).

        Args:
            text: The text, with [MASK] wherever a word is missing.
            top_k: How many candidates per blank, from 1 to 20.
            checkpoint: The name of a checkpoint; empty for the host's default.
            word: A word of your own, whose probability and rank at each blank you want to know.
        """
        return run(contract.FilledMasks, request, checkpoint, text=text, top_k=top_k, word=word)

    def sentiment(request: gr.Request, text: str, checkpoint: str = "") -> contract.Sentiment:
        """Tell whether a text praises or blames: the probability of each label (BERT, fine-tuned).

        Args:
            text: The text to judge.
            checkpoint: The name of a checkpoint; empty for the host's default.
        """
        return run(contract.Sentiment, request, checkpoint, text=text)

    def question_answering(
        request: gr.Request, question: str, context: str, top_k: int = 3, checkpoint: str = ""
    ) -> contract.FoundAnswers:
        """Find the answer to a question in a text, word for word (BERT, fine-tuned).

        Args:
            question: The question.
            context: The text that may hold the answer; a long one is read in overlapping windows.
            top_k: How many answers, from 1 to 10.
            checkpoint: The name of a checkpoint; empty for the host's default.
        """
        return run(contract.FoundAnswers, request, checkpoint, question=question, context=context, top_k=top_k)

    def names(request: gr.Request, text: str, checkpoint: str = "") -> contract.FoundNames:
        """Find the people, organisations, places and other names in a text (BERT, fine-tuned).

        Args:
            text: The text; a long one is read in overlapping windows.
            checkpoint: The name of a checkpoint; empty for the host's default.
        """
        return run(contract.FoundNames, request, checkpoint, text=text)

    def sentence_pair(request: gr.Request, a: str, b: str, checkpoint: str = "") -> contract.PairAnswer:
        """Compare two sentences: does b follow a, is it implied, do both say the same, how alike are they? (BERT).

        Args:
            a: The first sentence.
            b: The second sentence.
            checkpoint: The name of a checkpoint; empty for the host's default.
        """
        return run(contract.PairAnswer, request, checkpoint, a=a, b=b)

    def endings(request: gr.Request, beginning: str, endings: list[str]) -> contract.RankedEndings:
        """Rank endings of a beginning, by next sentence prediction (BERT) and by a completion model's probabilities.

        Args:
            beginning: How it begins.
            endings: Two to four endings.
        """
        return run(contract.RankedEndings, request, "", beginning=beginning, endings=endings)

    def translation(request: gr.Request, text: str, num_beams: int = 4, checkpoint: str = "") -> contract.Translations:
        """Translate a text, English to French unless the checkpoint says otherwise (encoder-decoder, beam search).

        Args:
            text: The text to translate.
            num_beams: How many candidates the beam search keeps, from 1 (greedy search) to 8.
            checkpoint: The name of a checkpoint; empty for the host's default.
        """
        return run(contract.Translations, request, checkpoint, text=text, num_beams=num_beams)

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
            checkpoint: The name of a checkpoint; empty for the host's default.
            loop_guard: For sample: so many tokens in a row are drawn no third time, from 0 (let them) to 20.
        """
        sampling = {"temperature": temperature, "top_k": top_k, "top_p": top_p, "seed": seed, "loop_guard": loop_guard}
        writing = {"max_new_tokens": max_new_tokens, "strategy": strategy, "num_beams": num_beams}
        return run(contract.Completion, request, checkpoint, prompt=prompt, **writing, **sampling)

    def word_in_context(
        request: gr.Request, word: str, sentences: list[str], checkpoint: str = ""
    ) -> contract.WordInSentences:
        """Compare the vectors of one word in several sentences, layer by layer, and with its one static vector.

        Args:
            word: The word, which stands in every sentence as a whole word, in small letters or capitals.
            sentences: Two to six sentences; where the word stands twice in one, its first place is meant.
            checkpoint: The name of a checkpoint that fills blanks; empty for the host's default.
        """
        given: object = sentences
        if isinstance(sentences, list) and all(isinstance(each, str) for each in sentences):
            given = "\n".join(" ".join(each.splitlines()) for each in sentences)
        return run(contract.WordInSentences, request, checkpoint, word=word, sentences=given)

    def teach(
        request: gr.Request,
        examples: list[contract.LabelledText],
        texts: list[str],
        checkpoint: str = "",
        kept_out: list[contract.LabelledText] = [],  # noqa: B006 it is only read
    ) -> contract.Taught:
        """Teach a classifier with a few examples, on the sentence vectors of a frozen BERT, and judge texts with it.

        Args:
            examples: At least two examples of each of two to five classes, each with its text and its label.
            texts: The texts to judge; there may be none.
            checkpoint: The name of a checkpoint; empty for the host's default.
            kept_out: Examples to measure the accuracy on; without any, it is measured by cross-validation.
        """
        return run(contract.Taught, request, checkpoint, examples=examples, texts=texts, kept_out=kept_out)

    def surprise(request: gr.Request, text: str, checkpoint: str = "", other: str = "") -> contract.Surprise:
        """Tell how well a language model foresees every token of a text: probability, rank, bits and perplexity.

        Args:
            text: The text to measure.
            checkpoint: The name of a checkpoint that writes on; empty for the host's default.
            other: Another text to compare it with.
        """
        return run(contract.Surprise, request, checkpoint, text=text, other=other)

    def written_by(request: gr.Request, text: str) -> contract.WrittenBy:
        """Tell how much a text reads like a small language model's; it proves nothing about who wrote it.

        Args:
            text: The text to judge, of 20 tokens or more.
        """
        return run(contract.WrittenBy, request, "", text=text)

    def generations(request: gr.Request, text: str, changed: str = "", checkpoint: str = "") -> contract.Generations:
        """Judge a text with eleven models from before Transformers, from a bag of words to ELMo's idea, and with BERT.

        Args:
            text: The text to judge.
            changed: The same text with a word changed, to see which models change their minds; empty for none.
            checkpoint: The name of the checkpoint of the last row; empty for the host's default.
        """
        return run(contract.Generations, request, checkpoint, text=text, changed=changed)

    def cells(
        request: gr.Request,
        text: str,
        model: Literal["prose", "code"] = "prose",
        cells: list[int] = [],  # noqa: B006 it is only read
    ) -> contract.Cells:
        """Tell what single cells of a character LSTM hold after each character of a text, the named ones first.

        Args:
            text: The text, of at most 1,000 characters.
            model: Which model reads it: prose, or code for Python source.
            cells: The numbers of cells to see besides the named ones, from 0; at most 20.
        """
        return run(contract.Cells, request, "", text=text, model=model, cells=cells)

    for endpoint in (
        fill_mask, sentiment, question_answering, names, sentence_pair, endings, translation, completion,
        word_in_context, teach, surprise, written_by, generations, cells,
    ):  # fmt: skip
        add_endpoint(endpoint, concurrency_id=MODEL_QUEUE, concurrency_limit=service.settings.concurrency)


def _add_decoder_endpoints(service: DemoService) -> None:
    def decode_tree(
        prompt: str,
        num_beams: int = 4,
        steps: int = 12,
        checkpoint: str = "",
        temperature: float = 0.8,
        top_k: int = 50,
        top_p: float = 0.95,
        seed: int = 0,
        loop_guard: int = 4,
    ) -> contract.Tree:
        """Grow greedy search, beam search and sampling from one prompt as a tree, dropped drafts included.

        Args:
            prompt: The text to continue; empty to start from nothing.
            num_beams: How many drafts beam search keeps, from 1 to 8.
            steps: How many tokens to write, from 1 to 40.
            checkpoint: The name of a checkpoint; empty for the host's default.
            temperature: For sampling, from 0.05 to 5.
            top_k: For sampling: choose among the k likeliest tokens; 0 for all.
            top_p: For sampling: choose among the likeliest tokens that make up this probability, from 0.01 to 1.
            seed: For sampling: the random seed.
            loop_guard: For sampling: so many tokens in a row are drawn no third time, from 0 (let them) to 20.
        """
        sampling = {"temperature": temperature, "top_k": top_k, "top_p": top_p, "seed": seed, "loop_guard": loop_guard}
        length = whole_number(steps, "The number of steps", "steps")
        fields = {"prompt": prompt, "max_new_tokens": length, "num_beams": num_beams, **sampling}
        return contract.shaped(contract.Tree, service.decode_tree(fields, checkpoint))

    def fork(request: gr.Request, run_id: str, step: int, token_id: int) -> contract.Completion:
        """Write a completion again from one of its tokens on, with another token in its place and the same settings.

        Args:
            run_id: The run_id of an earlier completion.
            step: Which of its tokens gives way, counted from 1; those before it stay.
            token_id: The id of the token to put in its place, such as one of its alternatives.
        """
        run = run_to_read(service, request, run_id)
        if run.task is not Task.COMPLETION:
            raise InputError("Only a completion can go on from another token here.", "run_id")
        step = whole_number(step, "The step", "step")
        token_id = whole_number(token_id, "The id of the token", "token_id")
        fields = fork_fields(run, service.output_of(run), step, token_id)
        done = service.run(session_to_log(service, request), run.task, fields, run.checkpoint)
        return contract.answer_of(contract.Completion, done.run, done.output)

    for endpoint in (decode_tree, fork):
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
