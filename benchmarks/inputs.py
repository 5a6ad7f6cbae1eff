"""A typical input for each task, by its endpoint."""

INPUTS: dict[str, dict[str, object]] = {
    "fill_mask": {"text": "The old keeper climbed the [MASK] every evening and lit the lamp for the boats."},
    "sentiment": {"text": "A quiet, generous film that takes its time and never once raises its voice."},
    "question_answering": {
        "question": "Who lit the lamp?",
        "context": "The lighthouse stood at the end of the pier. Its keeper, Ada Quist, climbed the stairs every "
        "evening and lit the lamp. When a storm came over the hills, the boats turned home and the market closed. "
        "In the morning the sea was calm again, and bread, cheese and apples were sold until noon.",
    },
    "translation": {"text": "The children are playing in the garden because the weather is nice today."},
    "completion": {"prompt": "Once upon a time there was a", "max_new_tokens": 40, "seed": 1},
}
