"""Decides checks and queries, as pure values and functions: no clock, socket, thread, SQL or coroutine.

`names.py` and `terms.py` have names and references, `warrants.py` and `written.py` warrants and their text form,
`model.py` object types, `stratification.py` the search for cycles through negation (with `components.py`).
`flattening.py` and `plans.py` compile rules into plans, in steps; `expansion.py` says what a plan consists of, for all
that go through one. `evaluation.py` decides checks level by level, those of one subject in `subject_evaluation.py`:
`nodes.py` is the graph of one decision, `loops.py` resolves what depends on itself, `truth.py` has the values,
`work.py` the budget. `warrant_reader.py` is the port through which the engine reads warrants. `nesting.py` folds nested
rules without recursion. `segments.py` bounds what caches hold by its `byte_sizes.py`. Nothing here imports anything of
Magistrate but `errors`.
"""
