"""A reader's claim that the database can verify and cannot be moved."""

from __future__ import annotations

import hashlib
import hmac

from lab.model import Context

KEY_BYTES = 64


def claim(key: bytes, context: Context, moment: str) -> str:
    """Return ``TENANT PRINCIPAL HEX``, good for one transaction.

    The HMAC-SHA-256 (RFC 2104) covers the reader and ``moment``, which the
    server derives from its process and the transaction's start; so a claim
    that was seen cannot be used again.
    ``key`` has 64 bytes. Tenant and principal hold no spaces.
    """
    message = f"{context.tenant} {context.principal} {moment}"
    digest = hmac.new(key, message.encode(), hashlib.sha256).hexdigest()
    return f"{context.tenant} {context.principal} {digest}"
