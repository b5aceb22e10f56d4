"""A provider of tokens for tests: it signs them, and publishes its keys over HTTP."""

import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import jwt
import msgspec
from cryptography.hazmat.primitives.asymmetric.ec import SECP256R1, EllipticCurvePrivateKey, generate_private_key
from cryptography.hazmat.primitives.asymmetric.rsa import RSAPrivateKey
from cryptography.hazmat.primitives.asymmetric.rsa import generate_private_key as generate_rsa_key
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat
from jwt.algorithms import ECAlgorithm, RSAAlgorithm

from tests.http_server import SilentHandler, serving

ISSUER, AUDIENCE = "https://login.example/", "magistrate"

PrivateKey = RSAPrivateKey | EllipticCurvePrivateKey


def rsa_key(bits: int = 2_048) -> RSAPrivateKey:
    return generate_rsa_key(public_exponent=65_537, key_size=bits)


def ec_key() -> EllipticCurvePrivateKey:
    return generate_private_key(SECP256R1())


def pem(key: PrivateKey) -> bytes:
    """The public key."""
    return key.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)


def jwk(key: PrivateKey, **members: Any) -> dict[str, Any]:
    """The public key; a member that is None is left out."""
    made: dict[str, Any] = (
        RSAAlgorithm.to_jwk(key.public_key(), as_dict=True)
        if isinstance(key, RSAPrivateKey)
        else ECAlgorithm.to_jwk(key.public_key(), as_dict=True)
    )
    made.pop("key_ops", None)
    return made | {name: value for name, value in members.items() if value is not None}


def token(key: PrivateKey, kid: str | None, algorithm: str | None = None, **claims: Any) -> str:
    """For ann, for a day, unless the claims say otherwise; one that is None is left out."""
    good = {"iss": ISSUER, "aud": AUDIENCE, "sub": "ann", "exp": int(time.time()) + 86_400}
    wanted = {name: value for name, value in (good | claims).items() if value is not None}
    algorithm = algorithm or ("RS256" if isinstance(key, RSAPrivateKey) else "ES256")
    return jwt.encode(wanted, key, algorithm=algorithm, headers={"kid": kid} if kid else None)


@dataclass(slots=True)
class JwksServer:
    """`answered` counts requests. What it answers can be changed at any time; `delay_seconds` goes before each part of
    the body. `?moved` behind the URL answers 200 whatever `status` is."""

    url: str = ""
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)
    parts: tuple[bytes, ...] = ()
    delay_seconds: float = 0.0
    answered: int = 0

    def publish(self, *keys: dict[str, Any]) -> None:
        self.status, self.headers, self.parts = 200, {}, (msgspec.json.encode({"keys": keys}),)


@contextmanager
def jwks_server(*keys: dict[str, Any]) -> Iterator[JwksServer]:
    state = JwksServer()
    state.publish(*keys)

    class Handler(SilentHandler):
        def do_GET(self) -> None:
            state.answered += 1
            self.send_response(200 if self.path.endswith("?moved") else state.status)
            for name, value in state.headers.items():
                self.send_header(name, value)
            self.end_headers()
            for part in state.parts:
                time.sleep(state.delay_seconds)
                self.wfile.write(part)

    with serving(Handler) as url:
        state.url = f"{url}/keys"
        yield state
