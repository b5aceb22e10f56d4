"""Checks a recorded history of a service in the manner of Jepsen (docs/history-check.md).

Every answer has to be explained by the revision that its token names; no acknowledged write may be lost, and no refused
one made; no token goes back; and the order of real time holds."""
