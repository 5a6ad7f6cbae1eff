"""The tree of three strategies in words: what it found, the three texts, and every token of it as a table."""

import html

from demo.plots.decode_tree import NAMES, token_name
from models.outputs import DecodeTree, TreeNode

_WORDS_OF_PROMPT = 4


def tree_finding(tree: DecodeTree) -> str:
    """What comparing the three texts shows, as the picture's title."""
    greedy, beam, sample = (tree.text_of(each) for each in ("greedy", "beam", "sample"))
    if tree.num_beams == 1 or beam.ids == greedy.ids:
        found = "Beam search ended with the same text as greedy search"
    elif beam.log_probability > greedy.log_probability:
        found = "Beam search found a likelier text than greedy search"
    else:
        found = "Beam search preferred a text with a better average per token than greedy search’s"
    drawn = "chance drew the same text" if sample.ids in (greedy.ids, beam.ids) else "chance drew another text"
    return f"{found}; {drawn}."


def tree_text(tree: DecodeTree) -> str:
    """The finding, the texts with their log-probabilities, and what the numbers mean."""
    rows = "".join(
        f"<li><b>{NAMES[each.strategy].capitalize()}</b> <span class='quiet'>log-probability "
        f"{each.log_probability:.2f}, {each.log_probability / max(1, len(each.ids)):.2f} per token</span><br>"
        f"<bdi>{_end_of(tree.prompt)}<mark>{html.escape(each.text)}</mark></bdi></li>"
        for each in sorted(tree.texts, key=lambda each: -each.log_probability)
    )
    dropped = sum(not node.kept and node.weighed for node in tree.nodes)
    return (
        f"<h3>{tree_finding(tree)}</h3><ul class='texts strategies'>{rows}</ul>"
        f"<p class='quiet'>A text’s probability is the product of its tokens’, a tiny number; its "
        "<em>log-probability</em> adds up their logarithms instead: 0 would be certain, and nearer to 0 is likelier. "
        f"Beam search kept {tree.num_beams} draft{'s' if tree.num_beams != 1 else ''} at each step and dropped "
        f"{dropped} others on the way.</p>"
    )


def tree_table(tree: DecodeTree) -> str:
    """Every token of the tree, for those who do not see the picture."""
    rows = "".join(
        f"<tr><td>{node.depth}</td><td><bdi>{html.escape(token_name(tree.nodes[node.parent]))}</bdi></td>"
        f"<th scope='row'><bdi>{html.escape(token_name(node))}</bdi></th><td>{node.log_probability:.2f}</td>"
        f"<td>{node.total:.2f}</td><td>{_fate(node)}</td></tr>"
        for node in tree.nodes[1:]
    )
    heads = "".join(
        f"<th scope='col'>{each}</th>"
        for each in ("step", "after", "token", "log-probability", "of the draft", "what became of it")
    )
    return (
        f"<details class='as-table'><summary>The tree as a table ({len(tree.nodes) - 1} tokens)</summary>"
        "<div class='table-frame' tabindex='0' role='region' aria-label='The tree as a table'>"
        f"<table><thead><tr>{heads}</tr></thead><tbody>{rows}</tbody></table></div></details>"
    )


def _end_of(prompt: str) -> str:
    """The last words of the prompt."""
    words = prompt.split(" ")
    end = " ".join(words[-_WORDS_OF_PROMPT:])
    return html.escape(f"… {end}" if len(words) > _WORDS_OF_PROMPT else end)


def _fate(node: TreeNode) -> str:
    chosen = ", ".join(NAMES[each] for each in node.strategies)
    if chosen:
        return f"in the text of {chosen}"
    if not node.kept:
        return "dropped at once"
    return "a finished draft that lost" if node.ended else "kept for a while"
