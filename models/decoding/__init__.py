"""How a text is written: the choice of each next token, beam search, and what may not be written."""
