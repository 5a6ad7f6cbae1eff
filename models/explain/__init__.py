"""Explanations of an answer: roles of heads, attribution, ablation, replaced words, decoding strategies compared."""
