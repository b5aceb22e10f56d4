"""Defines who makes requests and what they may do, and manages the keys by which they are recognized."""
