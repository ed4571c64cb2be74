"""The report: one page of recordings, which needs nothing else."""
