"""Differentially private prompt sanitization on the user's own machine."""

from typing import TYPE_CHECKING

from sanitizer.doors import lazy_door

if TYPE_CHECKING:
    from sanitizer.clients.shielding import preview as preview
    from sanitizer.clients.shielding import record_of as record_of
    from sanitizer.clients.shielding import shield as shield
    from sanitizer.corrections.memory import Corrections as Corrections
    from sanitizer.errors import BudgetExceeded as BudgetExceeded
    from sanitizer.errors import LedgerError as LedgerError
    from sanitizer.errors import ModelError as ModelError
    from sanitizer.errors import NotCertified as NotCertified
    from sanitizer.errors import PolicyError as PolicyError
    from sanitizer.errors import PrivacyError as PrivacyError
    from sanitizer.errors import RequestRefused as RequestRefused
    from sanitizer.errors import SanitizerError as SanitizerError
    from sanitizer.errors import UpstreamError as UpstreamError
    from sanitizer.errors import VaultError as VaultError
    from sanitizer.pipeline.sanitizer import Sanitizer as Sanitizer
    from sanitizer.privacy.cape import Cape as Cape
    from sanitizer.privacy.dyntext import DynText as DynText
    from sanitizer.results import Record as Record
    from sanitizer.results import Replacement as Replacement
    from sanitizer.results import SanitizedText as SanitizedText
    from sanitizer.risk.advice import Advice as Advice
    from sanitizer.risk.advice import advise as advise
    from sanitizer.risk.attacks import AttackReport as AttackReport
    from sanitizer.risk.attacks import run_attacks as run_attacks
    from sanitizer.risk.exact_audit import AuditReport as AuditReport
    from sanitizer.risk.exact_audit import audit as audit
    from sanitizer.storage.ledger import Ledger as Ledger
    from sanitizer.storage.stored_vault import FileVault as FileVault
    from sanitizer.synthesis.plan import SynthesizedText as SynthesizedText
    from sanitizer.synthesis.texts import synthesize as synthesize
    from sanitizer.synthesis.texts import synthesize_batch as synthesize_batch
    from sanitizer.text.policy import Policy as Policy
    from sanitizer.text.prompt import Prompt as Prompt
    from sanitizer.version import __version__ as __version__
else:
    __getattr__, __dir__, __all__ = lazy_door(
        __name__,
        {
            "clients.shielding": "preview record_of shield",
            "corrections.memory": "Corrections",
            "errors": "BudgetExceeded LedgerError ModelError NotCertified PolicyError "
            "PrivacyError RequestRefused SanitizerError UpstreamError VaultError",
            "pipeline.sanitizer": "Sanitizer",
            "privacy.cape": "Cape",
            "privacy.dyntext": "DynText",
            "results": "Record Replacement SanitizedText",
            "risk.advice": "Advice advise",
            "risk.attacks": "AttackReport run_attacks",
            "risk.exact_audit": "AuditReport audit",
            "storage.ledger": "Ledger",
            "storage.stored_vault": "FileVault",
            "synthesis.plan": "SynthesizedText",
            "synthesis.texts": "synthesize synthesize_batch",
            "text.policy": "Policy",
            "text.prompt": "Prompt",
            "version": "__version__",
        },
    )
