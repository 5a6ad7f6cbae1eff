"""The demo: the page that visitors see, the service behind it and the log of their runs."""
