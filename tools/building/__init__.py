"""Building harnesses: sources fetched and checked, libraries by their own steps, several at a time."""
