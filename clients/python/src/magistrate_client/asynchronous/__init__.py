"""Has the client for asyncio. `synchronous` is generated from it, network.py apart
(`./run python clients/python/generate_synchronous.py`)."""
