"""Of text: on paper, and on whatever colour."""

INK = "#222222"


def text_on(colour: str) -> str:
    """Black or white on `#rrggbb`: the one that differs more, at least by 4.5 as WCAG counts."""
    parts = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    luminance = sum(weight * part for weight, part in zip((0.2126, 0.7152, 0.0722), linear, strict=True))
    return "#000000" if (luminance + 0.05) / 0.05 > 1.05 / (luminance + 0.05) else "#ffffff"
