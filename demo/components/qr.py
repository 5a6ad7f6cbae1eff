"""An address as a QR code: an inline picture made here, so that no other host learns what is shown."""

import html

_QUIET_ZONE = 4
"""Light modules around the code, as its standard asks for."""


def qr_code(link: str) -> str:
    """The code of `link` as an SVG as wide as its place; dark on light in both themes, or some phones miss it."""
    import segno  # only lectures need it: the page opens without

    code = segno.make_qr(link, error="m")
    picture = code.svg_inline(
        omitsize=True, border=_QUIET_ZONE, dark="#000", light="#fff", svgclass=None, lineclass=None
    )
    return picture.replace("<svg ", f'<svg role="img" aria-label="QR code of {html.escape(link)}" ', 1)
