"""Sends the changes of stores to webhooks, in order and from one process at a time (docs/webhooks.md)."""
