"""Reads requests, answers them within their limits, and closes connections so that no answer is lost."""
