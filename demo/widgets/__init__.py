"""Pieces of the page that every tab may use."""

from typing import Any

from gradio.blocks import Block

Updates = dict[Block, Any]
"""What a handler changes on the page, by component; what is not named stays as it is."""
