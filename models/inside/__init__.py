"""The inside of a Transformer, step by step: numbers worked out by the equations and compared with the model's own."""
