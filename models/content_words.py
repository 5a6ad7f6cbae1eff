"""Which words of a text carry its content: nouns, verbs, names, and not the function words between them."""

_ENGLISH = """a an the this that these those some any each every no not n't and or but nor so yet if then than as of to
in on at by for with from into onto over under about after before between through during without within up down out
off i you he she it we they me him her us them my your his its our their mine yours who whom whose which what where
when why how is am are was were be been being do does did done have has had having will would shall should can could
may might must there here very too also just only because while until once all both such own same one's 's 't 're 've
'd 'll 'm s t d ll m re ve don didn doesn isn wasn"""
_FRENCH = """le la les un une des du de au aux ce cet cette ces mon ma mes ton ta tes son sa ses notre nos votre vos
leur leurs et ou mais ni donc or car si que qui quoi dont où quand comment pourquoi je tu il elle on nous vous ils elles
me te se lui y en ne pas plus est sont était étaient être suis es sommes êtes sera seront a ai as avons avez ont avait
avoir fait dans sur sous avec sans pour par vers chez entre avant après trop très aussi comme parce puis l d j m t s
n c qu"""
_GERMAN = """der die das den dem des ein eine einen einem einer eines und oder aber denn wenn weil dass ob als wie ich
du er sie es wir ihr mich dich sich uns euch ihm ihn ihnen mein dein sein unser euer kein keine nicht auch nur sehr zu
zum zur in im an am auf aus bei mit nach von vom vor über unter für durch um ist sind war waren bin bist wird werden
wurde hat haben hatte hatten kann was wer wo wann warum"""

ENGLISH = frozenset(_ENGLISH.split())
"""The most frequent function words of the language that every model here reads."""

TRANSLATED_INTO = frozenset(f"{_FRENCH} {_GERMAN}".split())
"""Those of the languages that translators here write. Some are content words in English: “car”, “die”, “son”."""


def is_content_word(text: str, function_words: frozenset[str] = ENGLISH) -> bool:
    """Whether the word `text` has a letter or digit and is none of the `function_words`."""
    word = text.strip().removeprefix("##").replace("’", "'").casefold()
    # “n'ai” is made of two function words, “l'animal” of one and of a content word.
    return word not in function_words and any(
        part not in function_words and any(map(str.isalnum, part)) for part in word.split("'")
    )
