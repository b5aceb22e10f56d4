"""Defines what a store promises, to every layer above."""
