"""The tour for a first visit: its files, the questions on its cards, the card, and what happens on it."""
