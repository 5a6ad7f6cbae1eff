"""Training data for sentiment: spaced as people type, each text once, and none that is held out."""

from pathlib import Path

from training import text
from training.sentiment import detokenised, read_data


def test_treebank_spacing_is_undone() -> None:
    assert detokenised("it 's fine , but you do n't care .") == "it's fine, but you don't care."
    assert detokenised("`` fun '' -lrb- mostly -rrb-") == '"fun" (mostly)'


def test_no_development_sentence_is_in_the_sentiment_data(tmp_path: Path) -> None:
    (tmp_path / "sst2").mkdir()
    (tmp_path / "sst2/dev.tsv").write_text("sentence\tlabel\nthe owl slept .\t0\n")
    (tmp_path / "sst2/train.tsv").write_text(
        "sentence\tlabel\nthe owl  slept !\t0\na bright and merry film about barns\t1\n"
    )
    material = read_data(tmp_path)
    assert material.development == [("the owl slept .", 0)] and material.development[0] in material.kept_out
    read = material.phrases + material.opinions
    trained, kept_out = ({text.normalised(row) for row, _ in rows} for rows in (read, material.kept_out))
    assert trained.isdisjoint(kept_out)
    assert "a bright and merry film about barns" in trained
    for rows in (read, material.kept_out):
        assert {0.0, 0.5, 1.0} <= {share for _, share in rows}
