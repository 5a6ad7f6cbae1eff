"""The answers of the endpoints. Callers rely on the names: add freely, rename none.

Each answer is a `TypedDict`, from which Gradio reads the schema of the endpoint; `answers.shaped` fills one from typed
results.
"""
