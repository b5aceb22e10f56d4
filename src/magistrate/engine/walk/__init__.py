"""Decides checks by walking cached entries, or rows that were read ahead, and reports which are missing."""
