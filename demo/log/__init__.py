"""The session log: what is kept of every run, and for whom."""
