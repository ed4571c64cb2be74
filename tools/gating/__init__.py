"""Budgets: what a session may cost, what it does cost, and the verdict."""
