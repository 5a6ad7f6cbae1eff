"""Sentence splitting, for models that were trained on one sentence at a time.

The rules are the project's own rather than a library's: of the 200 texts in `tests/models/sentences.txt`, for which
they were written, pysbd 0.3.4 splits 150 correctly, syntok 1.4.4 151, and BlingFire 0.1.8 (99 MB) 174.
"""

import re

from models.text.characters import says_anything


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


_OPENERS = "\"'“‘«(\\[¿¡"
_CLOSERS = "\"'”’»)\\]"
# A sentence may end at a full stop, question or exclamation mark with closing quotes or brackets, before a space and
# something that can begin a sentence; at such a mark of scripts that put no space after it; or at a line break.
_END = re.compile(
    rf"(?P<stop>[.!?…؟।]+[{_CLOSERS}]*)(?=\s+(?:[{_OPENERS}]|[-–—•*]\s)*[^\W_])|[。！？]+[」』{_CLOSERS}]*|[ \t]*\n\s*"
)
_LAST_WORD = re.compile(r"((?:[^\W\d_]|\.)*[^\W\d_])$")
_NEXT_WORD = re.compile(rf"[\s{_OPENERS}]*([^\W_]+)")

_BEFORE_NAMES = _words("""mr mrs ms mx dr prof mt ft messrs mme mlle rev hon gen col maj capt cpt cmdr lt sgt cpl pvt
adm gov sen rep pres supt insp fr e.g i.e viz cf vs v approx esp incl resp""")  # fmt: skip
"""Abbreviations that never end a sentence: titles, and words that point ahead."""
_BEFORE_FIGURES = _words("""no nos nr vol vols fig figs p pp ch chap chs sec secs sect art arts para paras par eq eqs
tab tbl app ex ver pt op bk cl ln ll ed tel ext est ca c circa min max hr hrs ft lb lbs oz apt rm""")  # fmt: skip
"""Abbreviations if a figure follows; elsewhere they may be words or end a sentence."""
_MONTHS_AND_DAYS = _words("""jan feb mar apr jun jul aug sep sept oct nov dec mon tue tues wed thu thur thurs fri sat
sun""")  # fmt: skip
_SHORT = _words("""inc ltd corp co cos llc plc bros assn dept govt univ etc al jr sr esq st ave blvd rd sq hwy vs bldg
ph.d ed eds trans""")  # fmt: skip
"""Abbreviations within a sentence or at its end, as the next word decides."""
_DOTTED = re.compile(r"(?:[^\W\d_]{1,2}\.)+[^\W\d_]{1,2}")
_ROMAN = re.compile(r"[IVXLC]+")
_MONTH_NAMES = _words("january february march april may june july august september october november december")
_BEGINNERS = _words("""a an the this that these those i he she it we you they who what when where why how which whose my
your his her its our their there here all some many most both each every one no none nobody nothing everyone everybody
everything someone somebody something and but or so yet if then than as at by for from in on of to with without after
before while during since until because although though however now today tomorrow yesterday later soon once again still
also only even perhaps maybe please do does did is are was were will would can could should must have has had not never
yes let don't it's i'm he's she's that's there's what's we're they're you're i've i'll isn't didn't""")  # fmt: skip
"""Words that begin sentences; with a capital letter they hardly ever follow an abbreviation within one."""
_SAYING = re.compile(
    rf"[\s{_OPENERS}]*(?:[^\W\d_]+\s+){{1,3}}?"
    r"(?:said|says|asked|asks|cried|shouted|replied|answered|whispered|yelled|called|screamed|added|thought|wondered)\b"
)
_MARKER = re.compile(r"(?:^|\n)[ \t]*(?:\d{1,3}|[^\W\d_])[.)]$")
_ITEM = re.compile(r"(?:[-–—•*·]|\(?(?:\d{1,3}|[^\W\d_])[.)])\s")
_STAYS_OPEN = re.compile(
    r"(?:[,;&–—-]|\b(?:a|an|the|and|or|but|of|to|in|on|at|by|for|from|with|into|my|your|his|her|its|our|their|this|that|"
    r"is|are|was|were|be|mr|mrs|ms|dr|prof|st)\.?)$",
    re.IGNORECASE,
)
_LONGEST_WORD = 40
"""The number of characters that are examined before a full stop, and after it."""
_FULL_LINE = 45
"""The fewest characters of a line that was probably broken because it was full."""


def sentences_of(text: str) -> tuple[tuple[int, int], ...]:
    """The characters `start` to `end` (exclusive) of each sentence, without the spaces around it; none is empty."""
    found, start = [], 0
    for match in _END.finditer(text):
        if "\n" in match[0]:
            ends = _ends_at_line_break(text[start : match.start()], match[0], text[match.end() :])
        else:
            ends = match["stop"] is None or _ends_at_stop(text, match.start(), match.end())
        if ends:
            found.append((start, match.end()))
            start = match.end()
    found.append((start, len(text)))
    return tuple(
        (first + len(part) - len(part.lstrip()), first + len(part.rstrip()))
        for first, last in found
        if says_anything(part := text[first:last])
    )


def _ends_at_line_break(before: str, gap: str, after: str) -> bool:
    """Return whether a line break ends the sentence `before` it.

    Blank lines, list items and headings end it, full lines do not. If a word follows, a full stop before the line break
    has already been judged by `_ends_at_stop`.
    """
    line = before.rpartition("\n")[2].strip()
    if gap.count("\n") > 1 or _ITEM.match(after) or (_ITEM.match(line) and not after[:1].islower()):
        return True
    if not line or not after or _STAYS_OPEN.search(line):
        return False
    if line.rstrip("\"'”’»)]")[-1:] in (".", "!", "?", "…"):
        return not _NEXT_WORD.match(after)
    follows = after.lstrip("\"'“‘«([¿¡")
    if re.match(r"I\b", follows) or not follows[:1].isupper():
        return line[-1] == ":" and not follows[:1].islower()
    return len(line) < _FULL_LINE


def _ends_at_stop(text: str, stop: int, after: int) -> bool:
    """Return whether the mark at `stop` ends a sentence, rather than an abbreviation, an initial or a pause."""
    next_word = _NEXT_WORD.match(text, after)
    follows = next_word[1] if next_word else ""
    first = re.match(rf"[\s{_OPENERS}]*([^\W\d_]+(?:['’][^\W\d_]+)?)", text[after : after + _LONGEST_WORD])
    begins = first is not None and first[1].lower().replace("’", "'") in _BEGINNERS
    if follows[:1].islower():
        return False
    if text[after - 1] in "\"'”’»" and _SAYING.match(text, after) and text[stop] in "!?":
        return False
    if text[stop] != ".":
        return True
    if text.startswith("...", stop):
        return follows != "I"
    if _MARKER.search(text[: stop + 1], max(0, stop - _LONGEST_WORD)):
        return False
    word = _LAST_WORD.search(text[max(0, stop - _LONGEST_WORD) : stop])
    if word is None:
        return True
    short, figure = word[1].lower().lstrip("."), follows[:1].isdigit() or bool(_ROMAN.fullmatch(follows))
    if len(short) == 1 and word[1].isupper():
        return word[1] == "I" or (begins and follows not in ("A", "I"))
    if short in _BEFORE_NAMES:
        return False
    if short in _BEFORE_FIGURES and figure and follows != "I":
        return False
    if short in _MONTHS_AND_DAYS and word[1] != word[1].lower():
        return not (follows[:1].isdigit() or follows.lower() in _MONTH_NAMES | _MONTHS_AND_DAYS) and begins
    if short in _SHORT or _DOTTED.fullmatch(word[1]):
        return begins
    return True
