"""Following a decoder as it writes."""
