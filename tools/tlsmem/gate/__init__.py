"""Budgets: limits, verdicts, and what a CI reads of them."""
