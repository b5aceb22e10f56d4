"""Lists how the access of two states differs: of two revisions, or of the newest one and a proposal
(docs/difference.md).

`revisions.py` and `proposal.py` build a StateComparison (states.py); `narrowing.py` reads to which access
the list is narrowed; `search.py` finds what the changes between the states affect, and `listing.py` makes the pages.
`comparing.py` compares that: `state_graph.py` decides many checks of one state, and `bitmap_comparing.py` compares all
subjects of many objects. `in_memory.py` is for warrants that are not stored."""
