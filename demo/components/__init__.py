"""Pieces that tabs share."""

from typing import Any

from gradio.blocks import Block

Updates = dict[Block, Any]
"""What a handler changes on the page, by component; what is not named stays as it is."""
