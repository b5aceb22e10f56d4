"""Identifies callers, by API key or by bearer token.

`callers.py` reads the header and knows the keys. `bearer.py` tells session tokens of the service from tokens of a login
provider, which `provider.py` verifies with public keys; `provider_keys.py` parses the keys, `fetched_keys.py` keeps
them up to date, and `key_url.py` fetches them.
"""
