"""Differentially private prompt sanitization on the user's own machine."""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from sanitizer.errors import (
        BudgetExceeded,
        LedgerError,
        ModelError,
        NotCertified,
        PolicyError,
        PrivacyError,
        RequestRefused,
        SanitizerError,
        UpstreamError,
        VaultError,
    )
    from sanitizer.ledger import Ledger
    from sanitizer.mechanisms.cape import Cape
    from sanitizer.mechanisms.dyntext import DynText
    from sanitizer.pipeline import Sanitizer
    from sanitizer.policy import Policy
    from sanitizer.synthesis import synthesize, synthesize_batch
    from sanitizer.synthesis_types import SynthesizedText
    from sanitizer.types import Record, Replacement, SanitizedText
    from sanitizer.vault import FileVault
    from sanitizer.wire.shield import shield

_HOMES = {
    "BudgetExceeded": "errors",
    "Cape": "mechanisms.cape",
    "DynText": "mechanisms.dyntext",
    "FileVault": "vault",
    "Ledger": "ledger",
    "LedgerError": "errors",
    "ModelError": "errors",
    "NotCertified": "errors",
    "Policy": "policy",
    "PolicyError": "errors",
    "PrivacyError": "errors",
    "Record": "types",
    "Replacement": "types",
    "RequestRefused": "errors",
    "SanitizedText": "types",
    "Sanitizer": "pipeline",
    "SanitizerError": "errors",
    "SynthesizedText": "synthesis_types",
    "UpstreamError": "errors",
    "VaultError": "errors",
    "shield": "wire.shield",
    "synthesize": "synthesis",
    "synthesize_batch": "synthesis",
}

__all__ = [
    "BudgetExceeded",
    "Cape",
    "DynText",
    "FileVault",
    "Ledger",
    "LedgerError",
    "ModelError",
    "NotCertified",
    "Policy",
    "PolicyError",
    "PrivacyError",
    "Record",
    "Replacement",
    "RequestRefused",
    "SanitizedText",
    "Sanitizer",
    "SanitizerError",
    "SynthesizedText",
    "UpstreamError",
    "VaultError",
    "shield",
    "synthesize",
    "synthesize_batch",
]


def __getattr__(name: str) -> Any:
    """Public names load their module at first use, so that importing the package is quick."""
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    value = getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
