"""The walk through a Transformer, step by step."""
