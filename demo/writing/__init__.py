"""Parts of the page that follow a decoder as it writes."""
