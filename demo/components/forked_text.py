"""Two texts that part at one token, side by side, with what differs between them marked."""

import html
from difflib import SequenceMatcher

from demo.components.run_header import run_header
from demo.components.step_table import token_name
from demo.components.written_text import as_read, chunks, generated_of
from demo.log.run import Run
from models.outputs import TaskOutput

_MARKED = "Marked: what the other text has not."
_SEED = " Model and settings are the same; chance starts again from the seed where the texts part."


def forked_text(step: int, before: TaskOutput, after: TaskOutput, run: Run) -> str:
    """What was written `before` and what `run` wrote `after`, which part at token `step`, counted from 1."""
    old, new = ([each.token for each in generated_of(output)] for output in (before, after))
    matched = SequenceMatcher(None, [each.id for each in old], [each.id for each in new], autojunk=False)
    blocks = matched.get_matching_blocks()
    in_old = {block.a + offset for block in blocks for offset in range(block.size)}
    in_new = {block.b + offset for block in blocks for offset in range(block.size)}
    others = len(new) - len(in_new)
    finding = (
        f"With “<bdi>{html.escape(token_name(new[step - 1].text))}</bdi>” in place of "
        f"“<bdi>{html.escape(token_name(old[step - 1].text))}</bdi>”, {others} of {len(new)} tokens "
        f"{'differs' if others == 1 else 'differ'}"
    )
    prompt = str(run.fields.get("prompt", ""))
    sampled = run.fields.get("strategy") == "sample"
    return (
        f"<div class='forked'><h3>{finding}</h3><div class='columns'>"
        f"{_side('As it was written', prompt, chunks(before), in_old)}"
        f"{_side('Going on from the other token', prompt, chunks(after), in_new, run_header(run))}"
        f"</div><p class='quiet'>{_MARKED}{_SEED if sampled else ''}</p></div>"
    )


def _side(title: str, prompt: str, parts: list[str], shared: set[int], below: str = "") -> str:
    text, marking = "", False
    for index, part in enumerate(parts):
        if marking != (index not in shared):
            marking = not marking
            text += "<mark>" if marking else "</mark>"
        text += html.escape(part)
    return (
        f'<section aria-label="{title}"><h4>{title}</h4><p class="written" dir="auto">'
        f'<span class="prompt">{html.escape(as_read(prompt))}'
        f"</span>{text}{'</mark>' if marking else ''}</p>{below}</section>"
    )
