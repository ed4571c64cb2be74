"""The report: one HTML page of recordings."""
