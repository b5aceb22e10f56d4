"""Hostile requests, and what they cost everybody else: `./run bench fairness`."""
