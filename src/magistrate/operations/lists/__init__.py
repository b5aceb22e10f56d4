"""Answers lists: runs queries, pages through what they find, and keeps what later pages need."""
