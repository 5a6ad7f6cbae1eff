"""One readable script per bundled checkpoint; `python -m training --help` says how to rebuild them."""
