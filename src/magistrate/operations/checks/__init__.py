"""Decides checks, and explains them."""
