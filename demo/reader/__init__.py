"""The attention reader."""
