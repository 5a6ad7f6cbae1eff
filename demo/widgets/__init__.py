"""Pieces of the page that every tab may use."""

from typing import Any

from gradio.blocks import Block

Updates = dict[Block, Any]
"""What a handler changes on the page, by component; what is not named stays as it is."""

PRESSED = """
element.addEventListener('click', (event) => {
  const button = event.target.closest('button[data-action]');
  if (button) trigger(button.dataset.action, {...button.dataset});
});
"""
"""Run in the page: a button triggers the event of its component that `data-action` names, with all its data."""
