"""tls-memtest's tools: what a TLS session costs in memory, measured, tabulated, drawn and compared."""

__version__ = "0.1.0"
