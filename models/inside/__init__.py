"""The inside of a Transformer, step by step and with its own numbers: one module per step."""
