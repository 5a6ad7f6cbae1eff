"""The steps of the tab Inside: a module for each."""
