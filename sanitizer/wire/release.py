"""The release of a request's texts: what leaves in place of each, and what that released."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise

from sanitizer.errors import RequestRefused
from sanitizer.identifiers.search import find
from sanitizer.pipeline.sanitizer import Sanitizer
from sanitizer.pipeline.surrogates import APART, UNKNOWN
from sanitizer.results import SanitizedText, things_of
from sanitizer.text.prompt import DeclaredText
from sanitizer.wire.headers import WireRecord
from sanitizer.wire.history import quoted
from sanitizer.wire.json_text import TextSlot, whole_number
from sanitizer.wire.walker import LIGHT_ROLE, MIN_NUMBER, SURE_KINDS

MAX_CUT = 64
"""Characters on each side of the end of a part in which an identifier that it cuts is found."""
MAX_TOLD = 200
"""Characters of the longest message that the one before it announces as a whole."""
_CUT = re.compile(r"[\w@.-][\w@]")
_GROUPED = frozenset(["CARD", "IBAN", "SSN"])
"""Kinds of identifiers whose groups may be apart by a space."""
_ANNOUNCEMENT = re.compile(r"[^\n.!?;]{1,64}\Z")
_FORBIDDEN = re.compile(r"[\s<|\\/>]+")
"""What the API forbids in names of participants."""
_KEY = re.compile(r"[\w .-]{1,64}")
"""Names of values that may tell what the value is."""


class Releaser:
    """Sanitizer of the texts of requests, for one conversation. Safe for many threads."""

    def __init__(self, sanitizer: Sanitizer) -> None:
        policy = sanitizer.policy
        self._sanitizer, self._roles = sanitizer, policy.roles
        self._light = self._finder = sanitizer
        if policy.reads_models:
            self._light = sanitizer.derive(policy=policy.identifiers_only())
            # Replaces all identifiers and no words: asked what the name of an argument tells.
            self._finder = sanitizer.derive(policy=replace(policy, perturb=False, detector="none"))
        has_names = "names" in policy.roles.values()
        self._named = sanitizer.derive(policy=policy.names_only()) if has_names else None

    def release(
        self, slots: Sequence[TextSlot], all_light: bool
    ) -> tuple[WireRecord, list[tuple[TextSlot, SanitizedText]]]:
        """Put released texts in place; return their record, and what was released as a whole.

        One batch, one more for texts whose words the policy would perturb but must not, and one for
        those that lose names alone: the API may know them, so they are not compared with the table.

        Args:
            all_light: only identifiers are replaced in any of them.
        """
        by_key = [] if all_light else self._by_key(slots)
        done = {id(slot) for slot, _ in by_key}
        apart = self._light is not self._sanitizer

        def how(slot: TextSlot) -> str:
            role = "" if slot.kind == "light" else self._roles.get(slot.role)
            is_named = role == "names" or (slot.kind == "light" and slot.field == "description")
            if self._named and not all_light and is_named:
                return "named"
            is_light = apart and (all_light or slot.kind == "light" or role == "identifiers")
            return "light" if is_light else "full"

        batches: dict[str, list[TextSlot]] = {"full": [], "named": [], "light": []}
        for slot in (slot for slot in slots if id(slot) not in done):
            batches[how(slot)].append(slot)
        full, named, light = batches.values()
        results = _released(self._sanitizer, full)
        rest = _released(self._named or self._light, named, APART)
        rest += [*_released(self._light, light, LIGHT_ROLE), *(result for _, result in by_key)]
        records = [[result.record for result in each] for each in (results, rest)]
        record = WireRecord.of(self._sanitizer.policy.name, *records)
        classes = Counter(kind for kind, _ in things_of([*results, *rest]) if kind.isupper())
        return replace(record, classes=classes), list(zip(full, results, strict=True))

    # ---- what a name tells of its value ----

    def _by_key(self, slots: Sequence[TextSlot]) -> list[tuple[TextSlot, SanitizedText]]:
        """Replace texts in which their name gives away more identifiers; return those.

        Where words are perturbed, only those that are an identifier as a whole: the others are
        perturbed anyway.
        """
        named = [slot for slot in slots if not slot.declared and _KEY.fullmatch(slot.key)]
        told = [slot for slot in [*named, *self._told_before(slots)] if self._tells(slot)]
        roles = [UNKNOWN if slot.role == UNKNOWN else LIGHT_ROLE for slot in told]
        results = _batch(self._finder, [f"{s.key}: {s.text}" for s in told], roles)
        for slot, result in zip(told, results, strict=True):
            slot.text = result.text[len(slot.key) + 2 :]
        return list(zip(told, results, strict=True))

    def _told_before(self, slots: Sequence[TextSlot]) -> list[TextSlot]:
        """Name the messages and parts that are an identifier as a whole since the one before says
        so ("My password is", "snowdrop"); return them.
        """
        told = []
        for one, two in pairwise(slots):
            if not _follow(one, two) or two.declared or len(two.text) > MAX_TOLD:
                continue
            said = _ANNOUNCEMENT.search(one.text.rstrip(" :=\n"))
            value = two.text.strip()
            if not (said and value and _KEY.fullmatch(key := said[0].strip())):
                continue
            if self._ends_in_one(f"{key}: {value}", len(value)):
                two.key = key
                told.append(two)
        return told

    def _tells(self, slot: TextSlot) -> bool:
        """Return True if a text's name tells that there is more of an identifier in it."""
        policy, text, begin = self._sanitizer.policy, slot.text, len(slot.key) + 2
        named = policy.find_identifiers(f"{slot.key}: {text}")
        if not named or named[0].start < begin:
            return False
        alone = policy.find_identifiers(text)
        n_named, n_alone = (sum(i.end - i.start for i in each) for each in (named, alone))
        whole = named[0].start == begin and n_named == len(text)
        return n_named > n_alone and (whole or not policy.perturb)

    def _ends_in_one(self, text: str, size: int) -> bool:
        """Return True if the last characters are an identifier, and there is no other one."""
        found = self._sanitizer.policy.find_identifiers(text)
        return [(each.start, each.end) for each in found] == [(len(text) - size, len(text))]

    # ---- numbers ----

    def hide_numbers(self, slots: Sequence[TextSlot]) -> None:
        """Write numbers that are identifiers as strings: known ones, or by form and name."""
        found: list[tuple[TextSlot, str, int]] = []
        for slot in self._unknown(slots):
            if len(slot.text) >= MIN_NUMBER:
                digits = whole_number(slot.text)
                # With its name first: that may tell the kind.
                named = [f"{slot.key}: {digits}"] if _KEY.fullmatch(slot.key) else []
                told = [text for text in (*named, digits) if self._ends_in_one(text, len(digits))]
                found += [(slot, text, len(text) - len(digits)) for text in told[:1]]
        texts, roles = [text for _, text, _ in found], [slot.role for slot, _, _ in found]
        for (slot, _, begin), result in zip(found, _batch(self._finder, texts, roles), strict=True):
            slot.text = f'"{result.text[begin:]}"'
        if found:  # others may be the same numbers, where nothing tells what they are
            hidden = {id(slot) for slot, _, _ in found}
            self._unknown([slot for slot in slots if id(slot) not in hidden])

    def _unknown(self, slots: Sequence[TextSlot]) -> list[TextSlot]:
        """Write numbers that the conversation knows as strings; return the others."""
        others = []
        for slot in slots:
            is_apart = slot.role in (APART, UNKNOWN)
            known = None if is_apart else self._sanitizer.inner.known_number(slot.text)
            if known is None:
                others.append(slot)
            else:
                slot.text = f'"{known}"'
        return others


def _released(
    sanitizer: Sanitizer, slots: Sequence[TextSlot], role: str = ""
) -> list[SanitizedText]:
    """Sanitize the texts in their slots, in a role of their own if it is given."""
    roles = [role if role and slot.kind != "light" else slot.role for slot in slots]
    texts = [DeclaredText(slot.text, slot.declared or ()) for slot in slots]
    results = _batch(sanitizer, texts, roles)
    for slot, result in zip(slots, results, strict=True):
        # Always, not only where something was replaced: that would tell whether anything was.
        slot.text = result.text
        if slot.kind == "person":
            slot.text = _FORBIDDEN.sub("_", slot.text).strip("_")[:64] or "_"
        if slot.holds_json:
            values = {each.replacement for each in result.replacements if each.kind.isupper()}
            slot.text = quoted(slot.text, values)
    return results


def _batch(
    sanitizer: Sanitizer, texts: Sequence[str | DeclaredText], roles: str | list[str]
) -> list[SanitizedText]:
    if not texts:
        return []
    try:
        return sanitizer.sanitize_batch(texts, role=roles, together=True)
    except ValueError as error:
        if not str(error).startswith("text must have at most"):
            raise
        raise RequestRefused("a text of the body is too long", "size", 413) from None


def check_joins(slots: Sequence[TextSlot]) -> None:
    """Raise RequestRefused if an identifier is cut in two by the end of a part or a message."""
    for one, two in pairwise(slots):
        if not _follow(one, two):
            continue
        tail, head = one.text[-MAX_CUT:].rstrip(), two.text[:MAX_CUT].lstrip()
        if not (tail and head and _CUT.search(tail[-1] + head[0])):
            continue
        if find(tail, SURE_KINDS) or find(head, SURE_KINDS):
            continue  # they are seen, and hidden, as they are
        close = one.text[-1] == tail[-1] and two.text[0] == head[0]
        glued = find(tail + head, SURE_KINDS) if close else []
        for found in glued or find(f"{tail} {head}", _GROUPED):
            if found.start < len(tail) < found.end - (not glued):
                raise RequestRefused(
                    f"an identifier ({found.kind}) is cut in two by the end of a part or a"
                    " message; send it in one",
                    "structure",
                )


def _follow(one: TextSlot, two: TextSlot) -> bool:
    """Return True for two texts of one speaker, the second of which may go on with the first."""
    if one.role != two.role or one.kind != "text" or two.kind != "text" or one.key or two.key:
        return False
    # Not as a title and what it is the title of.
    return (one.field, one.n_results) == (two.field, two.n_results)
