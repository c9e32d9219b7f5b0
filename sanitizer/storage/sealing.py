"""How rows are encrypted and authenticated, how results become bytes, and where keys come from.

Shared by the vault in a file and the store on PostgreSQL.
"""

from __future__ import annotations

import hmac
import json
import os
import shlex
import subprocess
from dataclasses import asdict
from pathlib import Path

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.kdf.scrypt import Scrypt

from sanitizer.errors import SanitizerError, VaultError
from sanitizer.randomness import secret_key
from sanitizer.results import Record, Replacement, SanitizedText

MIN_KEY_LENGTH = 16
NONCE_BYTES, TAG_BYTES, SALT_BYTES = 12, 16, 16
SEAL_BYTES = NONCE_BYTES + TAG_BYTES
"""Length of a seal."""
MIN_BLOCK = 128
"""Smallest padded content in bytes: most identifiers fit, so that their sizes tell nothing."""
SCRYPT_N = 2**15
"""Cost of deriving keys from a secret: 32 MiB and a tenth of a second for each guess."""
KEY_VARIABLE = "SANITIZER_VAULT_KEY"
"""Environment variable that holds the key where none is given."""
WRONG_KEY = "wrong key: only the one it was made with opens it; without that all in it is lost"
"""What is wrong with the key of a store."""
COMMAND_SECONDS = 30.0
"""How long a command that prints a key may run."""


def hmac_of(key: bytes, *fields: object) -> bytes:
    """Return the HMAC-SHA256 of the fields' repr as UTF-8 (repr escapes lone surrogates)."""
    return hmac.digest(key, repr(fields).encode(), "sha256")


class Keys:
    """AES-256-GCM and HMAC-SHA256 under one pair of keys.

    Contents are padded, and open only with the values that they were sealed with.

    Args:
        where: what the rows belong to, for errors.
        derived: 64 secret bytes: the key of the encryption, then that of the HMAC.
    """

    def __init__(
        self, where: object, derived: bytes, error: type[SanitizerError] = VaultError
    ) -> None:
        self._where, self._error = where, error
        self._aes = AESGCM(derived[:32])
        self._mac_key = derived[32:]

    def seal(self, plain: bytes, *bound: object) -> tuple[bytes, bytes]:
        nonce = secret_key()[:NONCE_BYTES]
        sealed = self._aes.encrypt(nonce, _padded(plain), repr(bound).encode())
        return nonce + sealed[-TAG_BYTES:], sealed[:-TAG_BYTES]

    def open(self, seal: object, body: object, *bound: object) -> bytes:
        try:
            if (
                not isinstance(seal, bytes)
                or not isinstance(body, bytes)
                or len(seal) != SEAL_BYTES
            ):
                raise InvalidTag
            padded = self._aes.decrypt(
                seal[:NONCE_BYTES], body + seal[NONCE_BYTES:], repr(bound).encode()
            )
        except InvalidTag:
            told = f"{self._where}: damaged or edited: a row does not open in its place"
            raise self._error(told) from None
        return padded[8 : 8 + int.from_bytes(padded[:8], "big")]

    def mac(self, *fields: object) -> bytes:
        return hmac_of(self._mac_key, *fields)


def derived_keys(where: object, key: bytes, salt: bytes, cost: int | None = None) -> Keys:
    """Return what scrypt derives from a secret and a salt; its cost N is by default the new one."""
    return Keys(where, Scrypt(salt=salt, length=64, n=cost or SCRYPT_N, r=8, p=1).derive(key))


def key_bytes(key: bytes | str | None) -> bytes:
    """Return a secret as bytes; raise ValueError if there is none, or it is shorter than 16."""
    key = os.environ.get(KEY_VARIABLE) if key is None else key
    if key is None:
        raise ValueError(f"key must be given, or set in the environment variable {KEY_VARIABLE}")
    if len(key) < MIN_KEY_LENGTH:
        raise ValueError(f"key must have at least {MIN_KEY_LENGTH} characters, got {len(key)}")
    return key.encode("utf-8", "surrogatepass") if isinstance(key, str) else bytes(key)


def read_secret(source: str, folder: Path | None = None) -> str:
    """Return a secret from where it is kept; no message shows it.

    Args:
        source: "env:NAME", a variable of the environment; "file:PATH", the first line of a file;
            or "command:PROGRAM ARGUMENTS", the first line that a program prints, such as the
            client of a key management service. It is run without a shell, for half a minute at
            most.
        folder: that a PATH without a leading slash begins in; default the present one.

    Raises:
        ValueError: no such form, or nothing is there.

    >>> import os
    >>> os.environ["EXAMPLE_KEY"] = "a long passphrase"
    >>> read_secret("env:EXAMPLE_KEY")
    'a long passphrase'
    >>> read_secret("a long passphrase")
    Traceback (most recent call last):
    ValueError: a secret must be given as env:NAME, file:PATH or command:PROGRAM ARGUMENTS
    """
    form, _, where = source.partition(":")
    if form not in ("env", "file", "command") or not where:
        # What was given may be the secret itself, so it is not shown.
        raise ValueError(
            "a secret must be given as env:NAME, file:PATH or command:PROGRAM ARGUMENTS"
        )
    found = _printed(where) if form == "command" else ""
    if form == "env":
        found = os.environ.get(where, "")
    elif form == "file":
        try:
            found = ((folder or Path()) / where).read_text("utf-8")
        except (OSError, UnicodeDecodeError) as error:
            why = getattr(error, "strerror", None) or "it is not UTF-8"
            raise ValueError(f"no secret in {source}: {why}") from None
    secret = found.partition("\n")[0].strip()
    if not secret:
        raise ValueError(f"no secret in {source.partition(' ')[0]}: it is empty or not set")
    return secret


def _printed(command: str) -> str:
    """Return what a program prints. Its errors are not shown: they may quote what it was given."""
    program = shlex.split(command)
    try:
        done = subprocess.run(program, capture_output=True, timeout=COMMAND_SECONDS, check=True)
        return done.stdout.decode()
    except (OSError, subprocess.SubprocessError, UnicodeDecodeError) as error:
        why = getattr(error, "strerror", None) or type(error).__name__
        raise ValueError(f"no secret from command:{program[0]}: {why}") from None


def _padded(plain: bytes) -> bytes:
    """Return length, content and zeros, up to the next power of two."""
    framed = len(plain).to_bytes(8, "big") + plain
    return framed.ljust(max(MIN_BLOCK, 1 << (len(framed) - 1).bit_length()), b"\0")


def dumped(values: object) -> bytes:
    """Return JSON in ASCII, which keeps lone surrogates, infinities, and every bit of a float."""
    return json.dumps(values, separators=(",", ":")).encode()


def encoded(result: SanitizedText) -> bytes:
    """Serialize a result."""
    return dumped([result.text, [asdict(r) for r in result.replacements], asdict(result.record)])


def decoded(plain: bytes, where: object) -> SanitizedText:
    """Restore what `encoded` returned; raise VaultError if a version with other fields wrote it."""
    text, replacements, record = json.loads(plain)
    record = {k: tuple(v) if isinstance(v, list) else v for k, v in record.items()}
    try:
        return SanitizedText(text, tuple(Replacement(**r) for r in replacements), Record(**record))
    except TypeError:
        raise VaultError(
            f"{where}: holds a message kept by another version of this package"
        ) from None
