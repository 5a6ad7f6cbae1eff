"""The session log: the database of sessions and runs, with deletion, export and upkeep."""
