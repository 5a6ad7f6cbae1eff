"""What the two generators' training stands on: lossless tokenizers, clean splits and batches that can be resumed."""

import random
import re
from itertools import islice

import pytest
import torch
from transformers import AutoTokenizer, PreTrainedTokenizerFast

from tests.training.conftest import STORY
from training import lone_words, pair_batches, small_gpt, text_generation, translation, windows
from training.answers import Answers
from training.bpe import END_OF_TEXT, translation_tokenizer
from training.copying import exchange, invented_name, with_copying
from training.optimizers import muon_and_adamw
from training.parallel_text import Pair, french_spacing, keep_out, sentence_key, without

FRENCH = ["Le chat dort sur la vieille chaise.", "Où est la maison de mon ami ?", "Nous avons vu 12 oiseaux."]


@pytest.fixture(scope="module")
def translator(tmp_path_factory: pytest.TempPathFactory) -> PreTrainedTokenizerFast:
    folder = tmp_path_factory.mktemp("translator")
    translation_tokenizer(STORY + FRENCH, vocab_size=400).save_pretrained(folder)
    return AutoTokenizer.from_pretrained(folder)


@pytest.mark.parametrize(
    "text",
    [
        "L'été, où es-tu ? Chez « Zoë » : 10:30 !",
        "emoji 😀👩‍🚀 and 中文, עברית, naïve œuf",
        "<pad> is only text, x<0x41>",
        "1234567890",
        "a",
    ],
)
def test_a_sentence_survives_the_shared_vocabulary(translator: PreTrainedTokenizerFast, text: str) -> None:
    ids = translator(text)["input_ids"]
    assert ids[-1] == translator.eos_token_id
    assert translator.unk_token_id not in ids
    if "<pad>" not in text:
        assert translator.decode(ids, skip_special_tokens=True) == text


def test_what_typographers_write_is_read_as_the_corpora_have_it(translator: PreTrainedTokenizerFast) -> None:
    typed = "“It’s late” —\u200b he said… 1990–95\u00ad, 5′2″\x00"
    plain = '"It\'s late" - he said... 1990-95, 5\'2"'
    assert translator(typed)["input_ids"] == translator(plain)["input_ids"]
    encoded = translator("“Oh” — so", return_offsets_mapping=True)
    spelt = [
        "“Oh” — so"[start:end].strip()
        for piece, (start, end) in zip(encoded.tokens(), encoded["offset_mapping"], strict=True)
        if piece != "▁"
    ]
    assert "".join(spelt) == "“Oh”—so", "every piece stands where it was typed"


def test_typographic_apostrophes_and_spaces_become_plain(translator: PreTrainedTokenizerFast) -> None:
    assert translator("l’ami\u00a0?")["input_ids"] == translator("l'ami ?")["input_ids"]


def test_special_tokens_of_the_shared_vocabulary(translator: PreTrainedTokenizerFast) -> None:
    assert (translator.pad_token_id, translator.eos_token_id, translator.unk_token_id) == (0, 1, 2)
    assert translator.bos_token is None


@pytest.mark.parametrize("text", ['Été 😀\n\nShe said, "No." — So', " a space", "\x00 control", ""])
def test_byte_pieces_lose_nothing(storyteller: PreTrainedTokenizerFast, text: str) -> None:
    assert storyteller.decode(storyteller(text)["input_ids"]) == text


def test_what_telephones_write_is_read_as_stories_have_it(storyteller: PreTrainedTokenizerFast) -> None:
    typed, plain = "“I don’t,” she said…\u200b\u00a0No", '"I don\'t," she said... No'
    assert storyteller(typed)["input_ids"] == storyteller(plain)["input_ids"]


def test_one_token_begins_and_ends_a_story(storyteller: PreTrainedTokenizerFast) -> None:
    assert storyteller.bos_token == storyteller.eos_token == END_OF_TEXT
    assert storyteller(END_OF_TEXT)["input_ids"] == [storyteller.bos_token_id]
    assert storyteller("")["input_ids"] == []


def test_development_sentences_are_in_no_training_pair_however_they_are_spelt() -> None:
    pairs = [Pair(f"Sentence number {n}!", f"Phrase {n}") for n in range(50)]
    pairs += [Pair(f"sentence NUMBER {n}", f"La phrase {n}") for n in range(50)]
    training, development = keep_out(pairs, count=10, seed=1)
    kept = {sentence_key(pair.english) for pair in development}
    assert len(development) == len(kept) == 10
    assert len(training) == len(pairs) - 20
    assert not kept & {sentence_key(pair.english) for pair in training}
    assert keep_out(pairs, count=10, seed=1)[1] == development


def test_a_key_keeps_what_tells_sentences_apart() -> None:
    assert sentence_key("It's me!") == sentence_key("its ME")
    assert sentence_key("I have 2.") != sentence_key("I have 3.")
    assert without([Pair("He's in.", "Il est là.")], {sentence_key("hes in")}) == []


def test_what_is_exchanged_is_the_same_on_both_sides() -> None:
    pair = Pair("Did Ana see Paris in 1999?", "Ana a-t-elle vu Paris en 1999 ?")
    swapped = exchange(pair, re.compile(r"\d+"), lambda found: found[::-1])
    assert swapped == Pair("Did Ana see Paris in 9991?", "Ana a-t-elle vu Paris en 9991 ?")
    assert exchange(Pair("Two 2 2", "Deux 2"), re.compile(r"\d+"), lambda _: "3") == Pair("Two 2 2", "Deux 2")


def test_copying_changes_its_share_of_the_pairs_and_keeps_the_rest() -> None:
    pairs = [Pair("Yesterday I met Robert.", "Hier, j'ai rencontré Robert.")] * 1000
    named = with_copying(pairs, seed=1, names=0.3, figures=0, pictures=0, casual=0)
    assert with_copying(pairs, seed=1, names=0.3, figures=0, pictures=0, casual=0) == named
    new = [pair for pair in named if "Robert" not in pair.english]
    assert 200 < len(new) < 400
    assert all(pair.english[16:-1] == pair.french[21:-1] for pair in new)
    pictured = with_copying(pairs, seed=1, names=0, figures=0, pictures=1, casual=0)
    assert all(pair.english[-2:] == pair.french[-2:] != "t." for pair in pictured)


def test_words_that_translate_each_other_are_found_in_sentences() -> None:
    animals = {"cat": "chat", "dog": "chien", "bird": "oiseau"}
    verbs = {"sleeps": "dort", "eats": "mange", "sings": "chante"}
    pairs = [
        Pair(f"The {animal} {verb}.", f"Le {french} {fait}.")
        for animal, french in animals.items()
        for verb, fait in verbs.items()
    ] * 3
    found = dict(lone_words.lexicon(pairs))
    assert found.items() >= (animals | verbs).items()
    assert found.get("the", "le") == "le"
    pairs += [Pair("The whale sleeps.", "La baleine dort.")]
    assert "whale" not in dict(lone_words.lexicon(pairs))


def test_lone_words_are_typed_as_visitors_type_them() -> None:
    pairs = [Pair(f"{word} {word}.", f"{word}o {word}o.") for word in ("ab", "cd")] * 6
    lone = lone_words.lone_words(pairs, seed=1, copies=lone_words.Copies(names=5, figures=7))
    assert lone == lone_words.lone_words(pairs, seed=1, copies=lone_words.Copies(names=5, figures=7))
    assert {pair for pair in lone if pair.english.islower()} == {Pair("ab", "abo"), Pair("cd", "cdo")}
    assert sum(pair.english == pair.french and pair.english.isdigit() for pair in lone) == 7
    assert sum(pair.english == pair.french and pair.english.isalpha() for pair in lone) == 5
    assert {pair.english.rstrip(".!") for pair in lone} >= {"Ab", "Cd"}


def test_an_invented_name_opens_with_a_capital_consonant() -> None:
    chance = random.Random(0)
    names = {invented_name(chance) for _ in range(200)}
    assert len(names) > 150
    assert all(re.fullmatch("[B-DF-GJ-NP-TV-Z][a-z]+", name) for name in names)


@pytest.mark.parametrize(
    ("written", "spaced"),
    [
        ("Ça va?", "Ça va ?"),
        ("Quoi\u202f?!", "Quoi ?!"),
        ("Il dit: «Non»", "Il dit : « Non »"),
        ("À 10:30; d’accord", "À 10:30 ; d'accord"),
        ("Déjà bien !", "Déjà bien !"),
    ],
)
def test_french_spacing(written: str, spaced: str) -> None:
    assert french_spacing(written) == spaced
    assert french_spacing(spaced) == spaced


def test_translation_batches_go_on_where_they_stopped(translator: PreTrainedTokenizerFast) -> None:
    pairs = [Pair(STORY[n % 3] * (1 + n % 2), FRENCH[n % 3]) for n in range(1200)]
    # Each epoch has pairs of its own.
    epochs = [pair_batches.encode(translator, pairs[:800]), pair_batches.encode(translator, pairs[400:])]

    def read(epoch: int) -> pair_batches.Encoded:
        return epochs[epoch % 2]

    through = list(islice(pair_batches.batches_of(read, 0, 1, 0), 30))
    resumed = next(pair_batches.batches_of(read, 0, 1, 25))
    assert torch.equal(through[25]["source"], resumed["source"])
    assert torch.equal(through[25]["target"], resumed["target"])
    assert max(batch["source"].numel() + batch["target"].numel() for batch in through) <= pair_batches.TOKENS_PER_BATCH


def test_english_read_without_some_merges_says_the_same_in_more_pieces(translator: PreTrainedTokenizerFast) -> None:
    pairs = [Pair(STORY[n % 3], FRENCH[n % 3]) for n in range(60)]
    whole, parted = (pair_batches.encode(translator, pairs, left_out) for left_out in (0.0, 0.3))
    for (source, target), (of_whole, target_of_whole) in zip(parted, whole, strict=True):
        assert translator.decode(source) == translator.decode(of_whole)
        assert torch.equal(target, target_of_whole)
    assert sum(len(source) for source, _ in parted) > 1.1 * sum(len(source) for source, _ in whole)
    again = pair_batches.encode(translator, pairs)
    assert all(torch.equal(source, before) for (source, _), (before, _) in zip(again, whole, strict=True))


def test_dropout_is_of_the_training_alone(translator: PreTrainedTokenizerFast) -> None:
    torch.manual_seed(0)
    model = translation.new_model(translator)
    source, target = (torch.tensor([translator(text)["input_ids"]]) for text in (STORY[0], FRENCH[0]))
    batch = {"source": source, "target": target}

    def losses() -> set[float]:
        return {pair_batches.smoothed_loss(model, batch).item() for _ in range(3)}

    translation.set_dropout(model, 0.2)
    assert len(losses()) == 3
    assert model.config.dropout == 0
    model.eval()
    assert len(losses()) == 1
    model.train()
    translation.set_dropout(model, 0.0)
    assert len(losses()) == 1


def test_padding_adds_nothing_to_the_translation_loss(translator: PreTrainedTokenizerFast) -> None:
    torch.manual_seed(0)
    model = translation.new_model(translator).eval()
    source, target = (torch.tensor([translator(text)["input_ids"]]) for text in (STORY[0], FRENCH[0]))
    padded = {"source": torch.cat([source, source * 0], 1), "target": torch.cat([target, target * 0], 1)}
    alone = pair_batches.smoothed_loss(model, {"source": source, "target": target})
    assert pair_batches.smoothed_loss(model, padded).item() == pytest.approx(alone.item(), abs=1e-4)


def test_muon_has_the_block_matrices_and_adamw_the_rest(
    translator: PreTrainedTokenizerFast, storyteller: PreTrainedTokenizerFast
) -> None:
    for model in (translation.new_model(translator), small_gpt.new_model(storyteller)):
        muon, adamw = muon_and_adamw(model, 0.02, 1e-3, 0.05, (0.9, 0.95))
        in_muon = {id(p) for group in muon.param_groups for p in group["params"]}
        in_adamw = {id(p) for group in adamw.param_groups for p in group["params"]}
        assert in_muon.isdisjoint(in_adamw)
        assert in_muon | in_adamw == {id(p) for p in model.parameters() if p.requires_grad}
        assert id(model.get_input_embeddings().weight) in in_adamw


@pytest.mark.parametrize("each", [1, 5])
def test_several_answers_for_a_place_are_learnt_by_their_shares(each: int) -> None:
    torch.manual_seed(0)
    right = Answers(torch.randint(0, 40, (6, 20, each)), torch.rand(6, 20, each).softmax(dim=-1))
    whole = torch.zeros(6, 20, 40).scatter_add_(2, right.pieces, right.shares)
    logits = torch.randn(6, 20, 40)
    expected = torch.nn.functional.cross_entropy(logits.flatten(0, 1), whole.flatten(0, 1))
    torch.testing.assert_close(right.loss(logits), expected)


def test_places_that_short_windows_never_reach_start_from_those_they_do(storyteller: PreTrainedTokenizerFast) -> None:
    model = small_gpt.new_model(storyteller)
    small_gpt.repeat_positions(model, windows.WINDOW)
    places = model.transformer.wpe.weight
    assert torch.equal(places[windows.WINDOW :], places[: windows.WINDOW])


def test_a_deeper_model_starts_as_the_one_it_grew_from_and_learns_in_every_layer(
    storyteller: PreTrainedTokenizerFast,
) -> None:
    torch.manual_seed(0)
    model = small_gpt.new_model(storyteller).eval()
    deeper = small_gpt.deepened(model, storyteller).eval()
    assert deeper.config.n_layer == len(small_gpt.DEEPER) > model.config.n_layer
    ids = torch.tensor([storyteller("Once upon a time there was a little")["input_ids"]])
    loss = deeper(ids, labels=ids).loss
    assert loss.item() == pytest.approx(model(ids, labels=ids).loss.item(), abs=1e-5)
    loss.backward()
    for block in deeper.transformer.h:
        assert block.mlp.c_proj.weight.grad.abs().sum() > 0 and block.attn.c_proj.weight.grad.abs().sum() > 0


def test_words_have_a_weight_decay_of_their_own(storyteller: PreTrainedTokenizerFast) -> None:
    model = small_gpt.new_model(storyteller)
    for part in text_generation.PARTS:
        muon, adamw = text_generation.optimizers_of(model, part)
        decays = {id(each): group["weight_decay"] for group in adamw.param_groups for each in group["params"]}
        assert decays[id(model.transformer.wte.weight)] == part.embeddings_decay
        assert decays[id(model.transformer.wpe.weight)] == 0.0
        assert muon.param_groups[0]["weight_decay"] == part.decay
