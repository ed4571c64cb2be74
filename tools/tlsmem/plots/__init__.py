"""Static figures, as PNG and SVG."""
