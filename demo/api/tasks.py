"""The endpoints of the tasks, and those that write with a completion model: the tree of strategies and the fork."""

from collections.abc import Callable
from typing import Any, Literal

import gradio as gr

from demo.api.callers import add_endpoint, run_to_read, session_to_log
from demo.api.contract.answers import SHAPES, Shape, answer_of, shaped
from demo.api.contract.before import Cells, EarlyTranslations, Generations
from demo.api.contract.encoders import FilledMasks, FoundAnswers, FoundNames, PairAnswer, RankedEndings, Sentiment
from demo.api.contract.surprise import Surprise, WrittenBy
from demo.api.contract.training import TinyModel, TrainingStep
from demo.api.contract.vectors import LabelledText, Taught, WordInSentences
from demo.api.contract.writing import Completion, Translations, Tree
from demo.limits import whole_number
from demo.runs import DemoService, fork_fields
from demo.settings import MODEL_QUEUE
from models.errors import InputError
from models.registry import Task
from models.wording import Sentence


def add_task_endpoints(service: DemoService) -> None:
    """Add an endpoint for every task."""

    def run(shape: Callable[..., Shape], request: gr.Request, checkpoint: str, **fields: Any) -> Shape:
        (task,) = (task for task, each in SHAPES.items() if each is shape)
        done = service.run(session_to_log(service, request), task, fields, checkpoint)
        return answer_of(shape, done.run, done.output, logged=service.is_kept(done.run))

    def fill_mask(request: gr.Request, text: str, top_k: int = 5, checkpoint: str = "", word: str = "") -> FilledMasks:
        """Fill the blanks of a text with the likeliest tokens (BERT's masked language model).

        Args:
            text: The text, with [MASK] wherever a word is missing.
            top_k: How many candidates per blank, from 1 to 20.
            checkpoint: The name of a checkpoint; empty for the host's default.
            word: A word of your own, whose probability and rank at each blank you want to know.
        """
        return run(FilledMasks, request, checkpoint, text=text, top_k=top_k, word=word)

    def sentiment(request: gr.Request, text: str, checkpoint: str = "") -> Sentiment:
        """Tell whether a text praises or blames: the probability of each label (BERT, fine-tuned).

        Args:
            text: The text to judge.
            checkpoint: The name of a checkpoint; empty for the host's default.
        """
        return run(Sentiment, request, checkpoint, text=text)

    def question_answering(
        request: gr.Request, question: str, context: str, top_k: int = 3, checkpoint: str = ""
    ) -> FoundAnswers:
        """Find the answer to a question in a text, word for word (BERT, fine-tuned).

        Args:
            question: The question.
            context: The text that may hold the answer; a long one is read in overlapping windows.
            top_k: How many answers, from 1 to 10.
            checkpoint: The name of a checkpoint; empty for the host's default.
        """
        return run(FoundAnswers, request, checkpoint, question=question, context=context, top_k=top_k)

    def names(request: gr.Request, text: str, checkpoint: str = "") -> FoundNames:
        """Find the people, organisations, places and other names in a text (BERT, fine-tuned).

        Args:
            text: The text; a long one is read in overlapping windows.
            checkpoint: The name of a checkpoint; empty for the host's default.
        """
        return run(FoundNames, request, checkpoint, text=text)

    def sentence_pair(request: gr.Request, a: str, b: str, checkpoint: str = "") -> PairAnswer:
        """Compare two sentences: does b follow a, is it implied, do both say the same, how alike are they? (BERT).

        Args:
            a: The first sentence.
            b: The second sentence.
            checkpoint: The name of a checkpoint; empty for the host's default.
        """
        return run(PairAnswer, request, checkpoint, a=a, b=b)

    def endings(request: gr.Request, beginning: str, endings: list[str]) -> RankedEndings:
        """Rank endings of a beginning, by next sentence prediction (BERT) and by a completion model's probabilities.

        Args:
            beginning: How it begins.
            endings: Two to four endings.
        """
        return run(RankedEndings, request, "", beginning=beginning, endings=endings)

    def translation(request: gr.Request, text: str, num_beams: int = 4, checkpoint: str = "") -> Translations:
        """Translate a text, English to French unless the checkpoint says otherwise (encoder-decoder, beam search).

        Args:
            text: The text to translate.
            num_beams: How many candidates the beam search keeps, from 1 (greedy search) to 8.
            checkpoint: The name of a checkpoint; empty for the host's default.
        """
        return run(Translations, request, checkpoint, text=text, num_beams=num_beams)

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
    ) -> Completion:
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
        return run(Completion, request, checkpoint, prompt=prompt, **writing, **sampling)

    def word_in_context(request: gr.Request, word: str, sentences: list[str], checkpoint: str = "") -> WordInSentences:
        """Compare the vectors of one word in several sentences, layer by layer, and with its one static vector.

        Args:
            word: The word, which stands in every sentence as a whole word, in small letters or capitals.
            sentences: Two to six sentences; where the word stands twice in one, its first place is meant.
            checkpoint: The name of a checkpoint that fills blanks; empty for the host's default.
        """
        given: object = sentences
        if isinstance(sentences, list) and all(isinstance(each, str) for each in sentences):
            given = "\n".join(" ".join(each.splitlines()) for each in sentences)
        return run(WordInSentences, request, checkpoint, word=word, sentences=given)

    def teach(
        request: gr.Request,
        examples: list[LabelledText],
        texts: list[str],
        checkpoint: str = "",
        kept_out: list[LabelledText] = [],  # noqa: B006 it is only read
    ) -> Taught:
        """Teach a classifier with a few examples, on the sentence vectors of a frozen BERT, and judge texts with it.

        Args:
            examples: At least two examples of each of two to five classes, each with its text and its label.
            texts: The texts to judge; there may be none.
            checkpoint: The name of a checkpoint; empty for the host's default.
            kept_out: Examples to measure the accuracy on; without any, it is measured by cross-validation.
        """
        return run(Taught, request, checkpoint, examples=examples, texts=texts, kept_out=kept_out)

    def surprise(request: gr.Request, text: str, checkpoint: str = "", other: str = "") -> Surprise:
        """Tell how well a language model foresees every token of a text: probability, rank, bits and perplexity.

        Args:
            text: The text to measure.
            checkpoint: The name of a checkpoint that writes on; empty for the host's default.
            other: Another text to compare it with.
        """
        return run(Surprise, request, checkpoint, text=text, other=other)

    def written_by(request: gr.Request, text: str) -> WrittenBy:
        """Tell how much a text reads like a small language model's; it proves nothing about who wrote it.

        Args:
            text: The text to judge, of 20 tokens or more.
        """
        return run(WrittenBy, request, "", text=text)

    def generations(request: gr.Request, text: str, changed: str = "", checkpoint: str = "") -> Generations:
        """Judge a text with eleven models from before Transformers, from a bag of words to ELMo's idea, and with BERT.

        Args:
            text: The text to judge.
            changed: The same text with a word changed, to see which models change their minds; empty for none.
            checkpoint: The name of the checkpoint of the last row; empty for the host's default.
        """
        return run(Generations, request, checkpoint, text=text, changed=changed)

    def translators(request: gr.Request, text: str) -> EarlyTranslations:
        """Translate a sentence into French with four LSTM translators from before Transformers, and with a Transformer.

        Args:
            text: The English sentence, of at most 64 tokens.
        """
        return run(EarlyTranslations, request, "", text=text)

    def cells(
        request: gr.Request,
        text: str,
        model: Literal["prose", "code"] = "prose",
        cells: list[int] = [],  # noqa: B006 it is only read
    ) -> Cells:
        """Tell what single cells of a character LSTM hold after each character of a text, the named ones first.

        Args:
            text: The text, of at most 1,000 characters.
            model: Which model reads it: prose, or code for Python source.
            cells: The numbers of cells to see besides the named ones, from 0; at most 20.
        """
        return run(Cells, request, "", text=text, model=model, cells=cells)

    def training_step(
        request: gr.Request,
        text: str,
        checkpoint: str = "",
        objective: Literal["masked", "next"] = "masked",
        seed: int = 0,
    ) -> TrainingStep:
        """Take one step of training on a text: the loss, its gradient by layer, and what the step would change.

        Args:
            text: The text, of at most 128 tokens.
            checkpoint: The name of a checkpoint that fills blanks; empty for the host's default. The next token is
                foreseen by the bundled completion model.
            objective: What is learned: masked for blanks in 15 % of the tokens (BERT), next for every next token (GPT).
            seed: For masked: which tokens are chosen, and what becomes of them.
        """
        return run(TrainingStep, request, checkpoint, text=text, objective=objective, seed=seed)

    def tiny_model(request: gr.Request, text: str, steps: int = 400, seed: int = 0) -> TinyModel:
        """Train a new tiny model on the characters of a text for at most 20 seconds, and throw it away.

        Args:
            text: The text, of 100 to 2,000 characters.
            steps: For how many steps it learns, from 1 to 800.
            seed: The random seed.
        """
        return run(TinyModel, request, "", text=text, steps=steps, seed=seed)

    for endpoint in (
        fill_mask, sentiment, question_answering, names, sentence_pair, endings, translation, completion,
        word_in_context, teach, surprise, written_by, generations, cells, translators, training_step, tiny_model,
    ):  # fmt: skip
        add_endpoint(endpoint, concurrency_id=MODEL_QUEUE, concurrency_limit=service.settings.concurrency)


def add_writing_endpoints(service: DemoService) -> None:
    """Add the tree of strategies, and the fork of a completion."""

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
    ) -> Tree:
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
        length = whole_number(steps, Sentence("The number of steps"), "steps")
        fields = {"prompt": prompt, "max_new_tokens": length, "num_beams": num_beams, **sampling}
        return shaped(Tree, service.decode_tree(fields, checkpoint))

    def fork(request: gr.Request, run_id: str, step: int, token_id: int) -> Completion:
        """Write a completion again from one of its tokens on, with another token in its place and the same settings.

        Args:
            run_id: The run_id of an earlier completion.
            step: Which of its tokens gives way, counted from 1; those before it stay.
            token_id: The id of the token to put in its place, such as one of its alternatives.
        """
        run = run_to_read(service, request, run_id)
        if run.task is not Task.COMPLETION:
            raise InputError(Sentence("Only a completion can go on from another token here."), "run_id")
        step = whole_number(step, Sentence("The step"), "step")
        token_id = whole_number(token_id, Sentence("The id of the token"), "token_id")
        fields = fork_fields(run, service.output_of(run), step, token_id)
        done = service.run(session_to_log(service, request), run.task, fields, run.checkpoint)
        return answer_of(Completion, done.run, done.output, logged=service.is_kept(done.run))

    for endpoint in (decode_tree, fork):
        add_endpoint(endpoint, concurrency_id=MODEL_QUEUE, concurrency_limit=service.settings.concurrency)
