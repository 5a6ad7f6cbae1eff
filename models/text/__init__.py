"""Characters, tokens, words and sentences, and the ways between them."""
