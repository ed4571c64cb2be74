"""The two formats: what a harness prints, and the records in data/."""
