"""Train the static word vectors: word2vec's skip-gram with negative sampling (Mikolov et al., 2013), with gensim.

It reads `text/wikipedia_{A..E}.txt.xz`, `text/wikinews.txt.xz` and `text/books_0.txt.xz`: about 54 million words.
"""

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator
from pathlib import Path

import numpy as np
from gensim.models import Word2Vec
from safetensors.numpy import save_file

from evaluation.probes import FOLDER as PROBES
from models.loading.prepared import sha256_of
from models.text import word_vectors
from models.text.word_vectors import WordVectors
from training.cards import Credit, commit
from training.text import read_text

FILES = (*(f"wikipedia_{letter}" for letter in "ABCDE"), "wikinews", "books_0")
SOURCES = (
    Credit("English Wikipedia, 2014", "CC BY-SA 3.0"),
    Credit("English Wikinews", "CC BY 2.5"),
    Credit("Classic books", "public domain in the United States"),
)
WORDS, WIDTH = 22_500, 100
SETTINGS = {"sg": 1, "window": 5, "negative": 6, "sample": 1e-4, "min_count": 40, "epochs": 3, "alpha": 0.04, "seed": 1}
WORKERS = 2
WORD = re.compile(r"[^\W\d_]+(?:'[^\W\d_]+)*")
LONGEST_LINE = 5_000
"""The most words in a line; gensim reads only the first ten thousand."""
AS_SHOWN = ("bank", "spring", "light", "king", "paris", "happy")
"""Words whose neighbours the card shows."""


def build(data: Path, workdir: Path) -> None:
    """Train the vectors and save them with their card; the corpus is kept in the work folder."""
    corpus = workdir / "words" / "corpus.txt"
    if not corpus.exists():
        corpus.parent.mkdir(parents=True, exist_ok=True)
        write_corpus((data / "text" / f"{name}.txt.xz" for name in FILES), corpus)
    model = Word2Vec(corpus_file=str(corpus), vector_size=WIDTH, workers=WORKERS, max_final_vocab=4 * WORDS, **SETTINGS)
    words = [word for word in model.wv.index_to_key if kept(word)][:WORDS]
    vectors = np.stack([model.wv[word] for word in words])
    save(words, vectors, word_vectors.FOLDER)
    write_card(word_vectors.load(word_vectors.FOLDER), int(model.corpus_total_words))


def write_corpus(files: Iterable[Path], corpus: Path) -> None:
    """Write each paragraph of `files` as lines of words in lower case, without figures and punctuation."""
    with corpus.open("w", encoding="utf-8") as to:
        for file in files:
            for line in read_text(file).splitlines():
                words = WORD.findall(line.lower().replace("’", "'"))
                for start in range(0, len(words), LONGEST_LINE):
                    to.write(" ".join(words[start : start + LONGEST_LINE]) + "\n")


def kept(word: str) -> bool:
    """Whether a visitor may look for `word`: ASCII letters, no single one except "a" and "i", no possessive form."""
    return word.isascii() and not word.endswith("'s") and (len(word) > 1 or word in ("a", "i"))


def save(words: list[str], vectors: np.ndarray, folder: Path) -> None:
    """Save `vectors`, scaled to length one, in float16, and their words."""
    folder.mkdir(parents=True, exist_ok=True)
    unit = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    save_file({"vectors": unit.astype(np.float16)}, folder / word_vectors.VECTORS)
    (folder / word_vectors.WORDS).write_text("\n".join(words) + "\n", encoding="utf-8")


def analogies() -> Iterator[tuple[str, str, str, str, str]]:
    """Our own analogies: a kind, and four words of which the first is to the second as the third to the last."""
    for line in (PROBES / "analogies.tsv").read_text(encoding="utf-8").splitlines():
        if not line.startswith("#"):
            kind, first, second, third, last = line.split("\t")
            yield kind, first, second, third, last


def tried(vectors: WordVectors) -> list[tuple[str, str, bool, bool]]:
    """Each analogy: its kind, its result in words, and whether the nearest word is right, twice.

    First the three given words are left out, as is usual, then none. An analogy with an unknown word counts as wrong.
    """
    found = []
    for kind, first, second, third, last in analogies():
        given, nearest, strict = (first, second, third), "(a word has no vector)", ""
        if all(vectors.of(word) is not None for word in given):
            vector = vectors.combined(second, first, third)
            nearest = vectors.nearest(vector, 1, given)[0].text
            strict = vectors.nearest(vector, 1)[0].text
        said = f"{second} − {first} + {third} = {nearest}" + ("" if nearest == last else f" (not {last})")
        found.append((kind, said, nearest == last, strict == last))
    return found


def write_card(vectors: WordVectors, corpus_words: int) -> None:
    """Write the card beside the vectors, with the analogies and the neighbours of a few words."""
    by_kind: dict[str, list[tuple[bool, bool]]] = defaultdict(list)
    outcome = tried(vectors)
    for kind, _, right, strict in outcome:
        by_kind[kind].append((right, strict))
    by_kind["all"] = [(right, strict) for _, _, right, strict in outcome]
    rows = [f"| {kind} | {len(each)} | {_share(r for r, _ in each)} | {_share(s for _, s in each)} |"
            for kind, each in by_kind.items()]  # fmt: skip
    wrong = [f"- {said}" for _, said, right, _ in outcome if not right]
    near = [f"- {word}: " + ", ".join(f"{each.text} {each.score:.2f}" for each in vectors.neighbours(word, 8))
            for word in AS_SHOWN]  # fmt: skip
    settings = ", ".join(f"{name} {value}" for name, value in SETTINGS.items())
    parts = [
        "---\nlicense: apache-2.0\nlanguage: [\"en\"]\n---",
        "# Static word vectors",
        f"One vector of {WIDTH} numbers for each of {len(vectors.words):,} words, whatever their sentence: word2vec’s "
        "skip-gram with negative sampling (Mikolov et al., 2013). Small letters; no figures; each of length one, in "
        "float16.",
        "## Data",
        "\n".join(f"- {source.name}: {source.license}" for source in SOURCES),
        "## Recipe",
        f"gensim’s Word2Vec over {corpus_words:,} words, a paragraph a line: {settings}.",
        f"Made by the scripts of commit `{commit()}`.",
        "## Figures",
        "Analogies of our own (`evaluation/probes/analogies.tsv`): the share of which the nearest word is the right "
        "one, first with the three given words left out, as is usual, then with nothing left out.",
        "| kind | asked | right, % | right with none left out, % |\n|---|---|---|---|\n" + "\n".join(rows),
        "What fails:",
        "\n".join(wrong) or "nothing",
        "Nearest words, with their cosines:",
        "\n".join(near),
        "## Limits",
        "A word has one vector for all its meanings, and the texts it was met in choose which of them is loudest: here "
        "encyclopedia, news and old books. Opposites stand close together, for they are met in the same places. What "
        "those texts take for granted about people is in the vectors as well.",
        "## Files",
        f"- `{word_vectors.VECTORS}`: sha256 `{sha256_of(word_vectors.FOLDER / word_vectors.VECTORS)}`",
    ]  # fmt: skip
    (word_vectors.FOLDER / "README.md").write_text("\n\n".join(parts) + "\n", encoding="utf-8")


def _share(right: Iterable[bool]) -> str:
    counted = list(right)
    return f"{100 * sum(counted) / len(counted):.1f}"
