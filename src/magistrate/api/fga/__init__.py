"""Serves `/fga/v1`, the API of the last hosted generation, as a view of v2: it translates requests and answers."""
