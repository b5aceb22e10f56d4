"""Issues and verifies session tokens, with which a user's own device can check what that user may do."""
