"""Pieces of the page that every tab may use."""

from typing import Any

from gradio.blocks import Block

Updates = dict[Block, Any]
"""A handler's updates of the page by component; components that are left out stay as they are."""

PRESSED = """
element.addEventListener('click', (event) => {
  const button = event.target.closest('button[data-action]');
  if (button) trigger(button.dataset.action, {...button.dataset});
});
"""
"""JavaScript for the page: a button triggers the event of its component that `data-action` names, with all its data."""
