"""The decision engine: pure values and functions. No clock, no socket, no thread, no SQL, no coroutine.

Rule of the layer: nothing here imports anything of Magistrate but `errors`.
"""
