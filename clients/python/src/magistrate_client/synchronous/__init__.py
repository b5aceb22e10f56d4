"""Has the client for threads. All but network.py is generated from `asynchronous`
(`./run python clients/python/generate_synchronous.py`)."""
