"""The tour for a first visit: its files, the questions on its cards, the cards as HTML, and their events."""
