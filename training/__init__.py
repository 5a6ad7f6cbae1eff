"""One readable script per bundled checkpoint; `python -m training --help` rebuilds any of them."""
