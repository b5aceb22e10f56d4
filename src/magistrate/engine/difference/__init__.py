"""Compares the access of two states: which subjects have which relations on which objects in one and not in the other.

`influences.py` reads off the rules of both models which relations depend on which. `origins.py` turns each change
between the states into the relations on objects where it begins, and the subjects that it can concern;
`reverse_expansion.py` expands from there to all relations on objects that it can affect. `values.py` evaluates these
in each state, and `comparing.py` compares the values. `state_adjacency.py` does both for many objects at once.
"""
