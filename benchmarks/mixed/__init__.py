"""Whole servers under mixed load: the three data sets, by size, on every store, and other servers beside ours."""
