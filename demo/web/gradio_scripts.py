"""Gradio's own scripts, changed in the few places that cost a page of many components most of its time.

Each change replaces a text that stands once in a script of this version of Gradio. Another version has to be read anew,
and `tests/web/test_gradio_private.py` fails on it. `docs/experiments/page.md` says what the changes were measured to
bring.
"""

from pathlib import Path

import gradio as gr

_EVENTS_OF_COMPONENTS = """
if (this.indexed !== t) {
  this.indexed = t;
  this.names = new Map();
  for (const event of t) {
    const names = new Map([...event.targets].reverse());  // of several the first counts
    for (const [id, name] of names) if (name) this.names.set(id, [...(this.names.get(id) ?? []), name]);
  }
}
const n = this.names.get(e.id) ?? [];
"""
_FIND_BY_ID = """
let nodes = new WeakMap;
function Z(e, t) {
  let known = nodes.get(e);
  if (!known) {
    nodes.set(e, known = new Map);
    const note = (node) => { known.set(node.id, node); node.children?.forEach(note); };
    note(e);
  }
  return known.get(t) ?? null;
}
"""
CHANGES = {
    # The tree of components.
    "core": {
        # Gradio searches all events of the page for each component.
        "let n=t.filter(t=>t.targets.find(([t])=>t===e.id))"
        ".map(t=>{let n=t.targets.find(([t])=>t===e.id);return n?n[1]:null}).filter(Boolean);": _EVENTS_OF_COMPONENTS,
        # Gradio searches the tree for each change of a component, and an event changes hundreds.
        "function Z(e,t){if(e.id===t)return e;"
        "if(e.children)for(let n of e.children){let e=Z(n,t);if(e)return e}return null}": _FIND_BY_ID,
        # A part of the tree is replaced here, so the map of its nodes is made anew.
        "a.children=i.children,": "a.children=i.children,nodes=new WeakMap,",
        # Before Gradio changes anything but a value, it copies the whole state of the component and of all components
        # in it, so that a value which a visitor has typed is not lost. A new status of an event (waiting, running,
        # done) changes no value, but is sent to every component that has been the output of any event.
        "r&&!(`value`in t)&&": "r&&!(`value`in t||`loading_status`in t)&&",
    },
    # The events.
    "Blocks": {
        # Gradio copies what the component of an event holds, and then finds that there is nothing to set.
        "async set_event_args(e,t){": "async set_event_args(e,t){if(!Object.keys(t).length)return()=>{};",
    },
    # The loading indicator.
    "statustracker": {
        # That of the loading page is removed when the page is there, but its clock would run on at every frame.
        "W&&ze()": "W&&U&&ze()",
    },
}
"""The changes by the name of a script: a text that it contains once, and its replacement."""


def page_scripts() -> dict[str, str]:
    """The changed scripts by their address."""
    assets, scripts = Path(gr.__file__).parent / "templates" / "frontend" / "assets", {}
    for name, changes in CHANGES.items():
        (file,) = assets.glob(f"{name}-*.js")
        text = file.read_text(encoding="utf-8")
        for before, after in changes.items():
            text = text.replace(before, after)
        scripts[f"/assets/{file.name}"] = text
    return scripts
