"""What the two generators' training stands on: lossless tokenizers, clean splits and batches that can be resumed."""

import lzma
import random
import re
from itertools import islice
from pathlib import Path

import pytest
import torch
from transformers import AutoTokenizer, PreTrainedTokenizerFast

from training import lone_words, samples, small_gpt, stories, text_generation, translation, windows
from training.answers import Answers
from training.beginnings import learn_to_begin
from training.bpe import END_OF_TEXT, byte_level_tokenizer, translation_tokenizer
from training.copying import exchange, invented_name, with_copying
from training.optimizers import muon_and_adamw
from training.parallel_text import Pair, french_spacing, keep_out, sentence_key, without
from training.text import fingerprint
from training.vocabulary_loss import AT_ONCE, vocabulary_loss

ENGLISH = ["The cat sleeps on the old chair.", "Where is my friend's house?", "We have seen 12 birds."]
FRENCH = ["Le chat dort sur la vieille chaise.", "Où est la maison de mon ami ?", "Nous avons vu 12 oiseaux."]


@pytest.fixture(scope="module")
def translator(tmp_path_factory: pytest.TempPathFactory) -> PreTrainedTokenizerFast:
    folder = tmp_path_factory.mktemp("translator")
    translation_tokenizer(ENGLISH + FRENCH, vocab_size=400).save_pretrained(folder)
    return AutoTokenizer.from_pretrained(folder)


@pytest.fixture(scope="module")
def storyteller(tmp_path_factory: pytest.TempPathFactory) -> PreTrainedTokenizerFast:
    folder = tmp_path_factory.mktemp("storyteller")
    byte_level_tokenizer(ENGLISH, vocab_size=300).save_pretrained(folder)
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


def test_typographic_apostrophes_and_spaces_become_plain(translator: PreTrainedTokenizerFast) -> None:
    assert translator("l’ami\u00a0?")["input_ids"] == translator("l'ami ?")["input_ids"]


def test_special_tokens_of_the_shared_vocabulary(translator: PreTrainedTokenizerFast) -> None:
    assert (translator.pad_token_id, translator.eos_token_id, translator.unk_token_id) == (0, 1, 2)
    assert translator.bos_token is None


@pytest.mark.parametrize("text", ["Été 😀\n\tShe said, “No.”", "  two spaces", "\x00 control", ""])
def test_byte_pieces_lose_nothing(storyteller: PreTrainedTokenizerFast, text: str) -> None:
    assert storyteller.decode(storyteller(text)["input_ids"]) == text


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
    pairs = [Pair(ENGLISH[n % 3] * (1 + n % 2), FRENCH[n % 3]) for n in range(1200)]
    encoded = translation.encode(translator, pairs)
    through = list(islice(translation.batches_of(encoded, 0, 0), 30))
    resumed = next(translation.batches_of(encoded, 0, 25))
    assert torch.equal(through[25]["source"], resumed["source"])
    assert torch.equal(through[25]["target"], resumed["target"])
    assert max(batch["source"].numel() + batch["target"].numel() for batch in through) <= translation.TOKENS_PER_BATCH


def test_padding_adds_nothing_to_the_translation_loss(translator: PreTrainedTokenizerFast) -> None:
    torch.manual_seed(0)
    model = translation.new_model(translator).eval()
    source, target = (torch.tensor([translator(text)["input_ids"]]) for text in (ENGLISH[0], FRENCH[0]))
    padded = {"source": torch.cat([source, source * 0], 1), "target": torch.cat([target, target * 0], 1)}
    alone = translation.smoothed_loss(model, {"source": source, "target": target})
    assert translation.smoothed_loss(model, padded).item() == pytest.approx(alone.item(), abs=1e-4)


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


def test_documents_open_with_the_end_of_text_token(storyteller: PreTrainedTokenizerFast) -> None:
    source = windows.join(storyteller, ["One.", "Two, three.\n\nFour."])
    end = storyteller.eos_token_id
    assert storyteller.decode(source.pieces) == f"{END_OF_TEXT}One.{END_OF_TEXT}Two, three.\n\nFour.{END_OF_TEXT}"
    assert [storyteller.decode(source.pieces[at : at + 2])[0] for at in source.openings.tolist()] == ["O", "T", "F"]
    begun = windows.beginnings_of(storyteller, source.pieces).tolist()
    assert [storyteller.decode(source.pieces[at : at + 2])[0] for at in begun] == ["O", "T"]
    assert source.pieces[-1] == end


def test_windows_go_on_where_they_stopped_and_open_as_a_visitor_does(storyteller: PreTrainedTokenizerFast) -> None:
    sources = [windows.join(storyteller, [f"Number {n}. " * 300 for n in range(5)]) for _ in range(6)]
    for part in text_generation.PARTS:
        through = [batch["pieces"] for batch in islice(windows.windows_of(sources, 0, part), 80)]
        assert torch.equal(through[60], next(windows.windows_of(sources, 60, part))["pieces"])
        assert all(rows.shape[0] * (rows.shape[1] - 1) == windows.PIECES for rows in through)
        opened = torch.cat([rows[:, 0] for rows in through]) == storyteller.eos_token_id
        assert opened.float().mean().item() == pytest.approx(part.opened, abs=0.05)


def test_opened_windows_may_be_of_other_sources_than_all_are(storyteller: PreTrainedTokenizerFast) -> None:
    sources = [windows.join(storyteller, [f"{name} {n}. " * 300 for n in range(5)]) for name in ("Number", "Letter")]
    part = windows.Part("some", (0.5, 0.5), (0.5, 0.5), steps=90, warmup_steps=1, rates=1, opened_of=(0.1, 0.9))
    rows = torch.cat([batch["pieces"] for batch in islice(windows.windows_of(sources, 0, part), 40)])
    opened = rows[:, 0] == storyteller.eos_token_id
    of_the_second = torch.tensor(["Letter" in storyteller.decode(row) for row in rows])
    assert of_the_second[opened].float().mean().item() == pytest.approx(0.9, abs=0.05)
    assert of_the_second[~opened].float().mean().item() == pytest.approx(0.5, abs=0.08)


@pytest.mark.parametrize("part", text_generation.PARTS, ids=lambda part: part.name)
def test_windows_are_as_long_as_a_part_says_and_shares_move_from_its_first_to_its_last(part: windows.Part) -> None:
    lengths = [part.window_at(step) for step in range(part.steps)]
    assert lengths[:8].count(windows.LONG_WINDOW) == 2 * part.long
    assert set(lengths) <= {windows.WINDOW, windows.LONG_WINDOW}
    if part.all_long_from < 1:
        assert set(lengths[int(part.all_long_from * part.steps) + 1 :]) == {windows.LONG_WINDOW}
    assert part.shares_at(0) == list(part.first)
    assert part.shares_at(part.steps) == pytest.approx(part.last)
    assert sum(part.first) == pytest.approx(1)
    assert sum(part.last) == pytest.approx(1)


@pytest.mark.parametrize("each", [1, 5])
def test_the_loss_over_a_vocabulary_and_its_gradients_are_cross_entropys(each: int) -> None:
    torch.manual_seed(0)
    words, count = 40, AT_ONCE + 100
    right = Answers(torch.randint(0, words, (count, each)), torch.rand(count, each).softmax(dim=-1))
    whole = torch.zeros(count, words).scatter_add_(1, right.pieces, right.shares)
    found = []
    for loss_of in (
        lambda hidden, embedding: vocabulary_loss(hidden, embedding, right),
        lambda hidden, embedding: torch.nn.functional.cross_entropy(hidden @ embedding.T, whole),
    ):
        torch.manual_seed(1)
        hidden = torch.randn(count, 16, requires_grad=True)
        embedding = torch.randn(words, 16, requires_grad=True)
        loss = 3 * loss_of(hidden, embedding)
        loss.backward()
        found.append((loss.detach(), hidden.grad, embedding.grad))
    for ours, exact in zip(*found, strict=True):
        assert (ours - exact).norm() <= 0.01 * exact.norm()


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


def test_how_texts_begin_is_learnt_by_the_first_places_vector_alone(storyteller: PreTrainedTokenizerFast) -> None:
    torch.manual_seed(0)
    sources = [windows.join(storyteller, [f"{name} is here. " * 300] * 2) for name in ("Number", "Letter")]
    model = small_gpt.new_model(storyteller).eval()
    with torch.no_grad():
        model.transformer.wte.weight.mul_(20)
    before = {name: tensor.clone() for name, tensor in model.state_dict().items()}
    starts = [storyteller(name)["input_ids"][0] for name in ("Number", "Letter")]

    def shares() -> list[float]:
        with torch.inference_mode():
            first = model(torch.tensor([[storyteller.bos_token_id]])).logits[0, 0].softmax(-1)
        return first[starts].tolist()

    learn_to_begin(model, sources, (0.1, 0.9))
    number, letter = shares()
    assert letter > 0.6 > 0.3 > number
    for name, tensor in model.state_dict().items():
        if name != "transformer.wpe.weight":
            assert torch.equal(tensor, before[name])
    assert torch.equal(model.transformer.wpe.weight[1:], before["transformer.wpe.weight"][1:])


def test_prose_keeps_paragraphs_and_drops_headings_and_tables() -> None:
    text = "CHAPTER I\n“Well--yes,” she said.\n  O rose, thou art\n* * *\n| a | b. |\nHe _did_ go."
    assert stories.prose(text) == '"Well--yes," she said.\n\nO rose, thou art\n\nHe did go.'


def test_a_review_that_quotes_what_is_kept_out_is_left_out() -> None:
    development = fingerprint(["The acting was better than the film deserved. Fine."])
    reviews = ["The ACTING was better, than the film deserved! So there.", "Fine. A film to see again and again.", ""]
    assert stories.apart(reviews, development) == reviews[1:2]


def test_a_review_that_comes_twice_is_read_once() -> None:
    long = "The same story again, told at length. " * 10
    assert stories.each_once(["One.", long + "And so on.", long + "And then.", "Two.", "ONE!"]) == [
        "One.",
        long + "And so on.",
        "Two.",
    ]


def test_reviews_with_labels_are_read_without_them(tmp_path: Path) -> None:
    (tmp_path / "imdb").mkdir()
    with lzma.open(tmp_path / "imdb/train.tsv.xz", "wt", encoding="utf-8") as file:
        file.write("id\tstars\n1\t9\t1\tI loved it.<br /><br />Twice.\n2\t1\t0\tDull.\n")
    assert stories.labelled_reviews(tmp_path) == ["I loved it.\n\nTwice.", "Dull."]


def test_books_are_found_by_their_titles() -> None:
    text = "Title: A\n\nAuthor: X\n\nFirst.\nTitle: B\n\nAuthor: Y\n\nSecond.\n"
    assert {title: stories.prose(body) for title, body in stories.books_of(text).items()} == {
        "A": "First.",
        "B": "Second.",
    }


def test_a_long_run_copied_from_training_is_found() -> None:
    seen = torch.arange(1000)
    copy = torch.tensor([5000, *range(300, 345), 6000])
    two_short_runs = torch.tensor([*range(300, 335), 6000, *range(336, 370)])
    assert samples.copied([two_short_runs, copy], [seen], at_least=40) == [1]


def test_a_phrase_said_three_times_is_found() -> None:
    assert samples.repeats_phrase(torch.tensor([1, 2, 3, 4, 9, 1, 2, 3, 4, 8, 1, 2, 3, 4]))
    assert not samples.repeats_phrase(torch.tensor([1, 2, 3, 4, 9, 1, 2, 3, 4, 8, 1, 2, 3, 5]))


def test_sentences_for_adults_are_cut_out_and_documents_with_many_left_out() -> None:
    plain = 'He said "No." (She did not.) Then they left.\n\nA sextet played in Essex.'
    mixed = 'He said "No." The SEX was dull. (She left.)\n\nNude scenes!'
    many = "So sexy. " * (stories.MOST_CUT + 1) + "Fine."
    assert stories.for_all([plain, mixed, "Porn.", many]) == [plain, 'He said "No." (She left.)', "Fine."]
    assert stories.for_all([plain, mixed, "Porn.", many], stories.MOST_CUT) == [plain, 'He said "No." (She left.)']
