"""Figures: pure functions from typed outputs to plotly figures, and the words that say what they show."""
