"""Measures what the service costs, side by side with what it is compared to (docs/performance/methods.md)."""
