"""A library release by release: which releases, what a session of each holds, as tables and as a picture."""
