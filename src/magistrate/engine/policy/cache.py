"""Caches the compiled policies of a process, by their text, up to a capacity."""

from magistrate.engine.policy.policy import Policy, compile_policy

MOST_CHARACTERS = 500_000
"""Limits the cached policies in characters of their text. A policy written to be as large as possible takes up to two
hundred times its length in memory: a hundred megabytes at worst. Usual ones take a kilobyte or two."""


class PolicyCache:
    """Evicts at random. With LRU eviction, requests that cycle through more policies than the capacity would never hit;
    at random, most of them do."""

    def __init__(self, most_characters: int) -> None:
        self.characters = 0
        self._most_characters = most_characters
        self._policies: dict[str, Policy] = {}
        self._texts: list[str] = []
        self._random = 1

    def find(self, text: str) -> Policy | None:
        return self._policies.get(text)

    def keep(self, policy: Policy) -> None:
        self.characters += len(policy.text)
        while self._texts and self.characters > self._most_characters:
            self._evict()
        self._policies[policy.text] = policy
        self._texts.append(policy.text)

    def _evict(self) -> None:
        # Knuth's linear congruential generator; its upper bits are random enough for this choice.
        self._random = (self._random * 6_364_136_223_846_793_005 + 1_442_695_040_888_963_407) % 2**64
        place = (self._random >> 33) % len(self._texts)
        self._texts[place], self._texts[-1] = self._texts[-1], self._texts[place]
        text = self._texts.pop()
        del self._policies[text]
        self.characters -= len(text)


_CACHE = PolicyCache(MOST_CHARACTERS)


def read_policy(text: str) -> Policy:
    """Returns the policy of a text, compiled now unless it is cached.

    Raises InvalidParameter, parameter `policy`, if it is too long, is not in the language, or cannot be a bool. The
    message names the line and the column, both from 1, and shows the line."""
    policy = _CACHE.find(text)
    if policy is None:
        policy = compile_policy(text)
        _CACHE.keep(policy)
    return policy


def is_kept(text: str) -> bool:
    """Returns whether the policy is cached, so that `read_policy` takes no time."""
    return _CACHE.find(text) is not None
