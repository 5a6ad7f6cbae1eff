"""Characters, tokens, words and sentences, and the conversions between them."""
