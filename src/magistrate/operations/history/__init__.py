"""Reads the past: the state at a point in time, the events that led to it, and the decisions that were recorded."""
