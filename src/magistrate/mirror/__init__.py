"""Keeps a copy of effective access in the database of an application, from the feed of a service."""
