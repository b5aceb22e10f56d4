"""Identifies callers, by API key or by bearer token.

`callers.py` reads the header and knows the keys; `unknown_keys.py` looks up those that it does not know. `bearer.py`
tells session tokens of the service from tokens of a login provider, which `provider.py` verifies with public keys;
`provider_keys.py` parses the keys, `fetched_keys.py` keeps them up to date, and `key_url.py` fetches them.
"""
