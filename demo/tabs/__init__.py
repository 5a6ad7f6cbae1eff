"""The tabs: one form, one result and one typed handler per task, then the history and what this is about."""
