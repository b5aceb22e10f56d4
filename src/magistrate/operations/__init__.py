"""Implements what the service does, a folder per noun, as functions of validated values and a context."""
