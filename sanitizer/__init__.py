"""Differentially private prompt sanitization on the user's own machine."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from sanitizer.clients import shield
    from sanitizer.corrections import Corrections
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
    from sanitizer.pipeline import Sanitizer
    from sanitizer.privacy import (
        Cape,
        DynText,
    )
    from sanitizer.results import (
        Record,
        Replacement,
        SanitizedText,
    )
    from sanitizer.risk import (
        Advice,
        AttackReport,
        AuditReport,
        advise,
        audit,
        run_attacks,
    )
    from sanitizer.storage import (
        FileVault,
        Ledger,
    )
    from sanitizer.synthesis import (
        SynthesizedText,
        synthesize,
        synthesize_batch,
    )
    from sanitizer.text import Policy, Prompt

    __version__: str

__all__ = [
    "Advice",
    "AttackReport",
    "AuditReport",
    "BudgetExceeded",
    "Cape",
    "Corrections",
    "DynText",
    "FileVault",
    "Ledger",
    "LedgerError",
    "ModelError",
    "NotCertified",
    "Policy",
    "PolicyError",
    "PrivacyError",
    "Prompt",
    "Record",
    "Replacement",
    "RequestRefused",
    "SanitizedText",
    "Sanitizer",
    "SanitizerError",
    "SynthesizedText",
    "UpstreamError",
    "VaultError",
    "advise",
    "audit",
    "run_attacks",
    "shield",
    "synthesize",
    "synthesize_batch",
]


def lazy_door(
    package: str, homes: Mapping[str, tuple[str, ...]]
) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """Return `__getattr__` and `__dir__` for a package whose names load their module at first use.

    Importing the package is quick then: numpy alone takes 70 ms, a model library more.

    Args:
        package: full name of the package.
        homes: module within the package -> the names in it that the package offers.
    """
    home_of = {name: module for module, names in homes.items() for name in names}

    def load(name: str) -> Any:
        if name not in home_of:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        from importlib import import_module
        from sys import modules

        value = getattr(import_module(f"{package}.{home_of[name]}"), name)
        # From now on Python finds the name without calling `__getattr__`.
        setattr(modules[package], name, value)
        return value

    return load, lambda: sorted(home_of)


DISTRIBUTION = "dp-sanitizer"
"""Name of the distribution; on package indexes "sanitizer" is another project's."""


def _version() -> str:
    """Return the version of the installed package; "0+unknown" where none is installed."""
    # Slow to import and needed here only.
    from importlib.metadata import PackageNotFoundError, version

    try:
        return version(DISTRIBUTION)
    except PackageNotFoundError:
        return "0+unknown"


if not TYPE_CHECKING:
    _load, __dir__ = lazy_door(
        __name__,
        {
            "clients": ("shield",),
            "corrections": ("Corrections",),
            "errors": (
                "BudgetExceeded",
                "LedgerError",
                "ModelError",
                "NotCertified",
                "PolicyError",
                "PrivacyError",
                "RequestRefused",
                "SanitizerError",
                "UpstreamError",
                "VaultError",
            ),
            "pipeline": ("Sanitizer",),
            "privacy": (
                "Cape",
                "DynText",
            ),
            "results": (
                "Record",
                "Replacement",
                "SanitizedText",
            ),
            "risk": (
                "Advice",
                "AttackReport",
                "AuditReport",
                "advise",
                "audit",
                "run_attacks",
            ),
            "storage": (
                "FileVault",
                "Ledger",
            ),
            "synthesis": (
                "SynthesizedText",
                "synthesize",
                "synthesize_batch",
            ),
            "text": ("Policy", "Prompt"),
        },
    )

    def __getattr__(name: str) -> Any:
        return _version() if name == "__version__" else _load(name)
