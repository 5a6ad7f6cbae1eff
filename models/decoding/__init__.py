"""Decoding: the choice of each next token, beam search, and the constraints on what may be written."""
