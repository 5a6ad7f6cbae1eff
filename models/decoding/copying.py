"""Copying in translation: figures, codes, addresses and words of other scripts must come out unchanged.

A small network loses digits of a long figure. If a translation lacks a copy, it is searched again, with `Copying`.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

_EDGES = "([{\"'“”‘’«»<>)]}.,;:!?…¡¿*"
_SIGNS = "$£€¥₹%‰°"
_ADDRESS = re.compile(r"\S*(?:@|://|_)\S*|www\.\S+|#\w+|\w[\w-]*(?:\.[\w-]+)*\.(?=[^\W\d])[a-z0-9]{2,5}(?:/\S*)?")
_CODE = re.compile(r"(?=.*\d)(?=.*[^\W\d])[\w./:+-]+")
_FIGURE = re.compile(r"(?<![\w.])[+-]?\d(?:[\d.,:/'-]*\d)?")
# A tag or a mark between angle brackets, such as </s>, has a meaning only as a whole.
_TAG = re.compile(r"<[^\s<>]{1,40}>")
# Of a figure with a unit, an ordinal or hyphenated words, only the figure is a copy: 5km, 3pm, 12th, 1990s,
# 20-year-old.
_AROUND_FIGURE = re.compile(r"[+-]?\d[\d.,:/]*(?:[a-zµ]{1,3}\d?|-[a-z-]+)|[a-z]+-\d+")
_TIME = re.compile(r"(\d{1,2}):(\d\d)")
_HOUR = re.compile(r"\s*(?:[ap]\.?m\b|[ap]\.m\.|o'clock)", re.IGNORECASE)
_GROUPED = re.compile(r"(\d{1,3}(?:,\d{3})+)(?:\.(\d+))?")
_DECIMAL = re.compile(r"([+-]?\d+)\.(\d+)")
_FREE_DIGITS = 2
"""Figures of up to this many digits may be written as a word, or as another figure: 5 p.m. is 17 h."""
_INSIDE_ADDRESSES = b"./:@_=?&#"
_CLEAR = 3
"""From this many bytes on, the beginning of a copy is hardly that of another word."""
_BEFORE_COPIES = b" '\"([-+:#$"
"""The bytes after which a copy may begin."""


@dataclass(frozen=True)
class Copy:
    """A part of the source, and the `ways` in which it may be written; the first is as in the source.

    If it is not `required`, a translation may lack it: the other language may have a word for the figure.
    """

    ways: tuple[str, ...]
    required: bool = True


def copies_of(sentence: str, spelled: Iterable[tuple[int, int]] = (), read: Callable[[str], str] = str) -> list[Copy]:
    """Return the copies that a translation of `sentence` needs, in order.

    `spelled` are the spans of characters, from start to end (exclusive), that the vocabulary has no piece for. `read`
    normalises a text as the tokenizer does, which gives another way to write it.
    """
    tags = [match.span() for match in _TAG.finditer(sentence)]
    single = [span for span in spelled if not any(start <= span[0] < end for start, end in tags)]
    runs = sorted([*tags, *_runs(sentence, single)])
    copies = [(start, Copy(_distinct(sentence[start:end], read(sentence[start:end])))) for start, end in runs]
    for match in re.finditer(r"\S+", sentence):
        if any(start < match.end() and match.start() < end for start, end in runs):
            continue
        word = match[0].lstrip(_EDGES + _SIGNS).rstrip(_EDGES + _SIGNS)
        at = match.start() + match[0].find(word)
        copies += [(at, copy) for copy in _copies_of_word(word, sentence[at + len(word) :], read)]
    return [copy for _, copy in sorted(copies, key=lambda each: each[0])]


def is_kept(translation: str, copies: Sequence[Copy]) -> bool:
    """Return whether `translation` holds every copy, each in a place of its own.

    A copy that is not `required` may be missing if no other figure is left in the translation.
    """
    left, missing = translation, False
    for copy in sorted(copies, key=lambda each: -len(each.ways[0])):
        places = [place for way in copy.ways if (place := _place(left, way)) is not None]
        if places:
            start, end = max(places, key=lambda each: each[1] - each[0])
            left = f"{left[:start]} \0 {left[end:]}"
        elif copy.required:
            return False
        else:
            missing = True
    return not (missing and re.search(r"\d", left))


def copied_places(translation: str, copies: Sequence[Copy]) -> list[tuple[int, int]]:
    """Return the spans of `translation`, from start to end (exclusive), that are copies."""
    places: list[tuple[int, int]] = []
    for copy in sorted(copies, key=lambda each: -len(each.ways[0])):
        found = [place for way in copy.ways if (place := _place(translation, way, places)) is not None]
        places += found[:1]
    return places


_Thread = tuple[frozenset[int], int, int]
"""A parse of the written text: the copies in it, the index in `_ways` of a copy that is begun, and its bytes so far."""

_FREE = -1
"""The index in a `_Thread` while no copy is begun."""


@dataclass(frozen=True)
class _CopyState:
    """All parses of the written text, and its last byte."""

    threads: frozenset[_Thread]
    last: bytes = b" "


class Copying:
    """A constraint that bars every token by which a translation would miss or alter one of its `copies`.

    A finite automaton over bytes reads the written text: outside of copies no figure may be written, within one only
    its next bytes, and no end token before all required copies are there.
    """

    def __init__(self, pieces: Sequence[bytes | None], copies: Sequence[Copy], ends: Iterable[int]) -> None:
        self._pieces = pieces
        self._ways = [(number, way.encode()) for number, copy in enumerate(copies) for way in copy.ways]
        self._required = frozenset(number for number, copy in enumerate(copies) if copy.required)
        self._ends = frozenset(ends)
        known = [(token_id, piece) for token_id, piece in enumerate(pieces) if piece is not None]
        self._ids: dict[bytes, list[int]] = {}
        for token_id, piece in known:
            self._ids.setdefault(piece, []).append(token_id)
        self._guarded = frozenset(token_id for token_id, piece in known if _is_guarded(piece))
        self._inner = frozenset(token_id for token_id, piece in known if piece[:1].isalnum())
        self._states: dict[tuple[int, ...], _CopyState] = {(): _CopyState(frozenset([(frozenset(), _FREE, 0)]))}
        self._barred: dict[_CopyState, frozenset[int]] = {}

    def barred(self, written: Sequence[int]) -> frozenset[int]:
        """Return the ids that may not follow the `written` ones; none if these have broken a copy already."""
        state = self._state(tuple(written))
        if state not in self._barred:
            self._barred[state] = self._barred_after(state)
        return self._barred[state]

    def is_within(self, written: Sequence[int]) -> bool:
        """Return whether the `written` text ends within a copy, so that only the rest of the copy can follow."""
        threads = self._state(tuple(written)).threads
        return bool(threads) and all(way != _FREE for _, way, _ in threads)

    def progress(self, written: Sequence[int]) -> tuple[int, set[int]]:
        """The number of written copies, and the ids that clearly begin another: hardly any other word begins so."""
        state = self._state(tuple(written))
        going_on = self._going_on(state).items()
        clear = {token_id for token_id, length in going_on if length >= _CLEAR or token_id in self._guarded}
        return max((len(there) for there, _, _ in state.threads), default=0), clear

    def _going_on(self, state: _CopyState) -> dict[int, int]:
        """The ids that begin or continue a copy, each with the number of the copy's bytes that are then written."""
        found: dict[int, int] = {}
        for there, way, length in state.threads:
            if way != _FREE:
                found |= self._beginning(self._ways[way][1], length)
                continue
            for copy, text in self._ways:
                if copy not in there:
                    found |= self._beginning(b" " + text)
                    if state.last in _BEFORE_COPIES:
                        found |= self._beginning(text)
        return found

    def _beginning(self, text: bytes, start: int = 0) -> dict[int, int]:
        """Return the ids of the pieces that continue `text` from byte `start`, each with the byte at which it ends."""
        return {
            token_id: end for end in range(start + 1, len(text) + 1) for token_id in self._ids.get(text[start:end], ())
        }

    def _barred_after(self, state: _CopyState) -> frozenset[int]:
        allowed = self._going_on(state).keys()
        free = [there for there, way, _ in state.threads if way == _FREE]
        if not free:
            return frozenset(range(len(self._pieces))) - allowed if allowed else frozenset()
        barred = self._guarded | (self._inner if state.last in _INSIDE_ADDRESSES else frozenset())
        over = any(self._required <= there for there in free)
        return (barred - allowed) | (frozenset() if over else self._ends)

    def _state(self, written: tuple[int, ...]) -> _CopyState:
        if written not in self._states:
            piece = self._pieces[written[-1]]
            before = self._state(written[:-1])
            self._states[written] = before if piece is None else self._after(before, piece)
        return self._states[written]

    def _after(self, state: _CopyState, piece: bytes) -> _CopyState:
        threads: set[_Thread] = set()
        bare = piece.lstrip(b" ")
        begins_word = bool(bare) and (bare != piece or state.last in _BEFORE_COPIES)
        is_free = not _is_guarded(piece) and not (state.last in _INSIDE_ADDRESSES and piece[:1].isalnum())
        for there, way, length in state.threads:
            if way != _FREE:
                threads.update(self._along(there, way, length, piece))
                continue
            if is_free:
                threads.add((there, _FREE, 0))
            if begins_word:
                for other, (copy, _) in enumerate(self._ways):
                    if copy not in there:
                        threads.update(self._along(there, other, 0, bare))
        return _CopyState(frozenset(threads), piece[-1:] or state.last)

    def _along(self, there: frozenset[int], way: int, length: int, piece: bytes) -> Iterator[_Thread]:
        """Yield the parse after `piece` if the copy that is begun continues with it."""
        copy, text = self._ways[way]
        if text.startswith(piece, length):
            length += len(piece)
            yield (there | {copy}, _FREE, 0) if length == len(text) else (there, way, length)


def _copies_of_word(word: str, after: str, read: Callable[[str], str]) -> Iterator[Copy]:
    """Yield the copies in a word whose characters all have a piece in the vocabulary."""
    if _ADDRESS.fullmatch(word) or (_CODE.fullmatch(word) and not _AROUND_FIGURE.fullmatch(word)):
        yield Copy(_distinct(word, read(word)))
        return
    for match in _FIGURE.finditer(read(word)):
        figure = match[0]
        digits = sum(character.isdigit() for character in figure)
        is_short = digits <= _FREE_DIGITS and figure.isdigit()
        is_hour = bool(_HOUR.match(word[match.end() :] + after))
        yield Copy(_distinct(figure, *_other_ways(figure, is_hour)), not is_short)


def _other_ways(figure: str, is_hour: bool) -> Iterator[str]:
    """Yield the other ways to write a figure in languages with a decimal comma and a 24-hour clock."""
    time = _TIME.fullmatch(figure)
    if time:
        for hour in {int(time[1]), (int(time[1]) + 12) % 24}:
            yield from (f"{hour}:{time[2]}", f"{hour} h {time[2]}", f"{hour}h{time[2]}")
            if time[2] == "00":
                yield from (f"{hour} h", f"{hour}h", f"{hour} heures")
    elif is_hour and figure.isdigit():
        yield str((int(figure) + 12) % 24)
    elif grouped := _GROUPED.fullmatch(figure):
        decimals = f",{grouped[2]}" if grouped[2] else ""
        yield from (grouped[1].replace(",", mark) + decimals for mark in (" ", "."))
    elif decimal := _DECIMAL.fullmatch(figure):
        yield f"{decimal[1]},{decimal[2]}"


def _runs(sentence: str, spelled: Iterable[tuple[int, int]]) -> list[tuple[int, int]]:
    """The spans of words, or of emoji, that hold one of the `spelled` characters; adjacent ones are one span."""
    marked = {place for start, end in spelled for place in range(start, end)}
    runs: list[tuple[int, int]] = []
    for match in re.finditer(r"\w[\w\u0300-\u036f'’-]*|[^\w\s]+", sentence):
        if marked.isdisjoint(range(*match.span())):
            continue
        if runs and sentence[runs[-1][1] : match.start()] in ("", " "):
            runs[-1] = (runs[-1][0], match.end())
        else:
            runs.append(match.span())
    return runs


def _place(text: str, way: str, taken: Sequence[tuple[int, int]] = ()) -> tuple[int, int] | None:
    """The first span of `way` in `text` that is no part of a longer figure or word and overlaps none of `taken`."""
    for match in re.finditer(rf"(?<![\w]){re.escape(way)}(?!\d|[.,:]\d)", text):
        if not any(start < match.end() and match.start() < end for start, end in taken):
            return match.span()
    return None


def _distinct(*ways: str) -> tuple[str, ...]:
    return tuple(dict.fromkeys(way for way in ways if way))


def _is_guarded(piece: bytes) -> bool:
    """Return whether a piece is written only within copies: digits, marks of addresses, bytes of other characters."""
    return any(byte in b"0123456789@_" for byte in piece) or (len(piece) == 1 and piece[0] >= 0x80)
