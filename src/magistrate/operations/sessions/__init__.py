"""Issues and verifies session tokens, with which a user's own device can check what that user may do.

`sessions.py` issues them, `bearer_tokens.py` verifies them and those of login providers, and `session_keys.py` holds
the keys that sign them.
"""
