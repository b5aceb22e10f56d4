"""Reads, formats and checks models written as text (docs/models.md), and converts between text and JSON."""
