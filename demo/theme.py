"""How the page looks: its theme, its stylesheets, and nothing from any other host."""

from pathlib import Path
from typing import Any

import gradio as gr

ASSETS = Path(__file__).resolve().parent.parent / "assets"


def script(name: str) -> str:
    """The script of the page in the file called `name`."""
    return (ASSETS / "scripts" / name).read_text(encoding="utf-8")


# Plain names, so that the theme asks no font service.
_FONT = ["system-ui", "-apple-system", "Segoe UI", "Roboto", "Noto Sans", "Helvetica Neue", "Arial", "sans-serif"]
_MONO = ["ui-monospace", "SFMono-Regular", "Consolas", "Liberation Mono", "monospace"]

_INK = gr.themes.Color(
    name="ink",
    c50="#f1f5fe",
    c100="#e2e9fc",
    c200="#c5d3f8",
    c300="#9fb6f2",
    c400="#7795ea",
    c500="#4a70dc",
    c600="#1f4bb8",
    c700="#1a3f9b",
    c800="#17357f",
    c900="#142b64",
    c950="#0d1c42",
)
_PAPER = gr.themes.Color(
    name="paper",
    c50="#fafaf8",
    c100="#f2f2ef",
    c200="#e4e4df",
    c300="#cfcfc9",
    c400="#9a9ca1",
    c500="#6f7682",
    c600="#555b66",
    c700="#3a3e46",
    c800="#24272c",
    c900="#1a1c20",
    c950="#131417",
)


def launch_options() -> dict[str, Any]:
    """The options of `launch` (or `mount_gradio_app`) that give the page its looks."""
    return {
        "theme": _theme(),
        "css_paths": [
            ASSETS / "style.css",
            ASSETS / "decoder.css",
            ASSETS / "inside.css",
            ASSETS / "inside_head.css",
            ASSETS / "lecture.css",
        ],
        "favicon_path": ASSETS / "favicon.svg",
        # Gradio 6.31 tells screen readers the bare name of this sentence: it has none under it in any language.
        "i18n": gr.I18n(en={"common.complete": "Done"}),
    }


def _theme() -> gr.themes.Base:
    return gr.themes.Base(
        primary_hue=_INK,
        secondary_hue=_INK,
        neutral_hue=_PAPER,
        font=_FONT,
        font_mono=_MONO,
        radius_size=gr.themes.sizes.radius_md,
        text_size=gr.themes.sizes.text_md,
    ).set(
        body_background_fill="*neutral_50",
        body_background_fill_dark="*neutral_950",
        body_text_color="#1b1c1f",
        body_text_color_dark="#ececea",
        body_text_color_subdued="*neutral_600",
        body_text_color_subdued_dark="#a7acb5",
        background_fill_primary="#ffffff",
        background_fill_primary_dark="*neutral_900",
        block_background_fill="transparent",
        block_background_fill_dark="transparent",
        block_border_width="0px",
        block_border_width_dark="0px",
        block_padding="0px",
        block_shadow="none",
        block_shadow_dark="none",
        block_label_background_fill="transparent",
        block_label_background_fill_dark="transparent",
        block_title_text_color="*body_text_color_subdued",
        block_title_text_color_dark="*body_text_color_subdued",
        block_info_text_color="*body_text_color_subdued",
        block_info_text_color_dark="*body_text_color_subdued",
        input_background_fill="#ffffff",
        input_background_fill_dark="*neutral_900",
        input_border_color="*neutral_300",
        input_border_color_dark="*neutral_700",
        input_border_width="1px",
        input_shadow="none",
        button_primary_background_fill="*primary_600",
        button_primary_background_fill_hover="*primary_700",
        button_primary_background_fill_dark="#3561cf",
        button_primary_background_fill_hover_dark="*primary_500",
        button_primary_text_color="#ffffff",
        button_primary_text_color_dark="#ffffff",
        button_secondary_background_fill="transparent",
        button_secondary_background_fill_dark="transparent",
        button_secondary_border_color="*neutral_300",
        button_secondary_border_color_dark="*neutral_700",
        button_border_width="1px",
        slider_color="*primary_600",
        slider_color_dark="*primary_400",
        layout_gap="20px",
        form_gap_width="16px",
    )
