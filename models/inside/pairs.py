"""A pair of texts as BERT's paper writes it: "[CLS] one [SEP] another [SEP]"."""


def texts_of(text: str) -> list[str]:
    """One text or two, without BERT's marks at the ends and between them; none where nothing but marks is there."""
    inner = text.strip().removeprefix("[CLS]").removesuffix("[SEP]")
    parts = [part.strip() for part in inner.split("[SEP]", maxsplit=1)]
    return [part for part in parts if part]
