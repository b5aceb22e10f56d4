"""Which public keys are read from files and key sets, and which are passed over."""

from pathlib import Path
from typing import Any

import msgspec
import pytest
from cryptography.hazmat.primitives.asymmetric.ec import SECP384R1, generate_private_key
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat, PublicFormat
from jwt.algorithms import RSAAlgorithm

from magistrate.api.auth.provider_keys import ProviderKey, read_key_file, read_keys
from magistrate.errors import InvalidSetting
from magistrate.operations.sessions.bearer_tokens import TokenHeader
from tests.jwks_server import ec_key, jwk, pem, rsa_key

RSA, EC = rsa_key(), ec_key()
P_384 = generate_private_key(SECP384R1())
ED25519 = Ed25519PrivateKey.generate().public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)
PRIVATE = RSA.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
PKCS1 = RSA.public_key().public_bytes(Encoding.PEM, PublicFormat.PKCS1)


def key_set(*keys: Any) -> bytes:
    return msgspec.json.encode({"keys": keys})


def kinds(content: bytes) -> list[tuple[str | None, str]]:
    return [(key.id, key.algorithm) for key in read_keys(content)]


def test_the_algorithm_follows_from_the_kind_of_key() -> None:
    assert kinds(pem(RSA)) == kinds(PKCS1) == kinds(b"\n" + pem(RSA)) == [(None, "RS256")]
    assert kinds(pem(EC)) == [(None, "ES256")]
    assert kinds(key_set(jwk(RSA, kid="a"), jwk(EC), jwk(RSA, kid="b", alg="RS256", use="sig"))) == [
        ("a", "RS256"),
        (None, "ES256"),
        ("b", "RS256"),
    ]


@pytest.mark.parametrize(
    "entry",
    [
        {},
        {"kty": "RSA"},
        {"kty": "oct", "k": "c2VjcmV0"},
        jwk(RSA, use="enc"),
        jwk(RSA, alg="RS512"),
        jwk(RSA, alg="HS256"),
        jwk(EC, alg="RS256"),
        jwk(RSA, kid=7),
        jwk(RSA) | {"n": "!"},
        jwk(RSA) | {"n": 5},
        jwk(EC) | {"x": jwk(EC)["y"]},
        jwk(rsa_key(1_024)),
        RSAAlgorithm.to_jwk(RSA, as_dict=True),
        jwk(P_384),
    ],
)
def test_a_key_that_cannot_be_used_is_passed_over(entry: Any) -> None:
    assert kinds(key_set(entry, jwk(EC, kid="good"))) == [("good", "ES256")]


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"text",
        b"[]",
        b"{}",
        b'{"keys":[1]}',
        b"-----BEGIN x",
        PRIVATE,
        pem(RSA) + pem(EC),
        ED25519,
        pem(P_384),
        key_set(),
        key_set(jwk(RSA, use="enc")),
    ],
)
def test_a_file_without_a_key_that_can_be_used_is_refused(content: bytes, tmp_path: Path) -> None:
    (tmp_path / "keys").write_bytes(content)

    with pytest.raises(InvalidSetting, match="jwt_keys"):
        read_key_file(f"{tmp_path}/keys")


def test_a_file_that_cannot_be_read_is_refused(tmp_path: Path) -> None:
    for path in (tmp_path / "nothing.pem", tmp_path):
        with pytest.raises(InvalidSetting, match="cannot be read"):
            read_key_file(str(path))


@pytest.mark.parametrize(
    ("key_id", "token_head", "fits"),
    [
        ("a", TokenHeader("RS256", "a"), True),
        ("a", TokenHeader("RS256", None), True),
        (None, TokenHeader("RS256", "a"), True),
        ("a", TokenHeader("RS256", "b"), False),
        ("a", TokenHeader("ES256", "a"), False),
        (None, TokenHeader("HS256", None), False),
    ],
)
def test_a_key_fits_tokens_of_its_algorithm_that_do_not_name_another(
    key_id: str | None, token_head: TokenHeader, fits: bool
) -> None:
    assert ProviderKey(key_id, "RS256", RSA.public_key()).fits(token_head) == fits
