"""Builds running parts from the settings: it may import every other package, and only commands import it."""
