"""The look of the page: its theme and its stylesheets, with nothing from any other host."""

from pathlib import Path
from typing import Any

import gradio as gr

ASSETS = Path(__file__).resolve().parent.parent / "assets"


def script(name: str) -> str:
    """The text of the JavaScript file called `name`, which runs in the page."""
    return (ASSETS / "scripts" / name).read_text(encoding="utf-8")


# Plain names, so that the theme asks no font service.
_FONT = ["system-ui", "-apple-system", "Segoe UI", "Roboto", "Noto Sans", "Helvetica Neue", "Arial", "sans-serif"]
_MONO = ["ui-monospace", "SFMono-Regular", "Consolas", "Liberation Mono", "monospace"]

_INK = gr.themes.Color(
    *("#f1f5fe", "#e2e9fc", "#c5d3f8", "#9fb6f2", "#7795ea", "#4a70dc"),
    *("#1f4bb8", "#1a3f9b", "#17357f", "#142b64", "#0d1c42"),
    name="ink",
)
_PAPER = gr.themes.Color(
    *("#fafaf8", "#f2f2ef", "#e4e4df", "#cfcfc9", "#9a9ca1", "#6f7682"),
    *("#555b66", "#3a3e46", "#24272c", "#1a1c20", "#131417"),
    name="paper",
)
_LIGHT_AND_DARK = {
    "body_background_fill": ("*neutral_50", "*neutral_950"),
    "body_text_color": ("#1b1c1f", "#ececea"),
    "body_text_color_subdued": ("*neutral_600", "#a7acb5"),
    "background_fill_primary": ("#ffffff", "*neutral_900"),
    "block_background_fill": ("transparent", "transparent"),
    "block_border_width": ("0px", "0px"),
    "block_shadow": ("none", "none"),
    "block_label_background_fill": ("transparent", "transparent"),
    "block_title_text_color": ("*body_text_color_subdued", "*body_text_color_subdued"),
    "block_info_text_color": ("*body_text_color_subdued", "*body_text_color_subdued"),
    "input_background_fill": ("#ffffff", "*neutral_900"),
    "input_border_color": ("*neutral_300", "*neutral_700"),
    "button_primary_background_fill": ("*primary_600", "#3561cf"),
    "button_primary_background_fill_hover": ("*primary_700", "*primary_500"),
    "button_primary_text_color": ("#ffffff", "#ffffff"),
    "button_secondary_background_fill": ("transparent", "transparent"),
    "button_secondary_border_color": ("*neutral_300", "*neutral_700"),
    "slider_color": ("*primary_600", "*primary_400"),
}
_SHEETS = (
    "style.css",
    "decoder.css",
    "inside.css",
    "inside_head.css",
    "lecture.css",
    "tour.css",
    "generations.css",
    "training.css",
)


def launch_options() -> dict[str, Any]:
    """The options of `launch` (or `mount_gradio_app`) that give the page its looks."""
    return {
        "theme": _theme(),
        "css_paths": [ASSETS / name for name in _SHEETS],
        "favicon_path": ASSETS / "favicon.svg",
        # Gradio 6.31 has no sentence under this name in any language, and tells screen readers the bare name.
        "i18n": gr.I18n(
            **{
                code: {"common.complete": done}
                for code, done in (("en", "Done"), ("fr", "Terminé"), ("de", "Fertig"), ("es", "Listo"))
            }
        ),
    }


def _theme() -> gr.themes.Base:
    theme = gr.themes.Base(
        primary_hue=_INK,
        secondary_hue=_INK,
        neutral_hue=_PAPER,
        font=_FONT,
        font_mono=_MONO,
        radius_size=gr.themes.sizes.radius_md,
        text_size=gr.themes.sizes.text_md,
    )
    light = {name: value for name, (value, _) in _LIGHT_AND_DARK.items()}
    dark = {f"{name}_dark": value for name, (_, value) in _LIGHT_AND_DARK.items()}
    return theme.set(
        **light,
        **dark,
        block_padding="0px",
        input_border_width="1px",
        input_shadow="none",
        button_border_width="1px",
        layout_gap="20px",
        form_gap_width="16px",
    )
