"""The Python interface as users meet it: clear errors, short reprs, pickles without originals."""

from __future__ import annotations

import asyncio
import copy
import pickle
from collections.abc import AsyncIterator, Callable
from functools import partial
from importlib.metadata import version
from pathlib import Path
from typing import Any

import pytest

import sanitizer as package
from sanitizer import (
    BudgetExceeded,
    Ledger,
    ModelError,
    Policy,
    PolicyError,
    Prompt,
    RequestRefused,
    SanitizedText,
    Sanitizer,
    SynthesizedText,
)

PROMPT = "Write to anna@example.org, or to <joe@example.org> & co."


@pytest.fixture
def sanitizer() -> Sanitizer:
    return Sanitizer(policy="identifiers", budget=10.0, conversation="about Zoltan")


@pytest.fixture
def result(sanitizer: Sanitizer) -> SanitizedText:
    return sanitizer.sanitize(PROMPT)


def test_the_version_is_the_packages() -> None:
    assert package.__version__ == version("dp-sanitizer")


@pytest.mark.parametrize("budget", ["10", True, [10]])
def test_a_budget_that_is_no_number_is_named(budget: Any, tmp_path: Path) -> None:
    with pytest.raises(TypeError, match="budget must be a number"):
        Sanitizer(budget=budget)
    with (
        Ledger.create(tmp_path / "ledger", b"a key of sixteen bytes") as ledger,
        pytest.raises(TypeError, match="budget must be a number"),
    ):
        Sanitizer(budget=budget, ledger=ledger, conversation="c")


def test_a_policy_may_be_a_dict_as_its_file_would_be() -> None:
    wanted = {"base": "strict", "public": {"words": ["Leeds"]}, "mechanism": {"epsilon": 2.5}}
    policy = Sanitizer(policy=wanted).policy
    assert policy.name == "custom"
    assert "leeds" in policy.public
    assert policy.mechanism is not None
    assert policy.mechanism.epsilon == 2.5


def test_a_policy_file_may_be_named_by_a_string(tmp_path: Path) -> None:
    path = tmp_path / "mine.toml"
    path.write_text('base = "strict"\n')
    assert Policy.from_toml(str(path)).name == "mine"


def test_a_refusal_carries_its_numbers_through_a_pickle(tmp_path: Path) -> None:
    with pytest.raises(BudgetExceeded) as caught:
        Sanitizer(policy="strict", budget=7.5).sanitize("I live in Leeds.")
    with Ledger.create(tmp_path / "ledger", b"a key of sixteen bytes") as ledger:
        kept = Sanitizer(policy="strict", budget=3.0, ledger=ledger, conversation="c")
        with pytest.raises(BudgetExceeded) as in_ledger:
            kept.sanitize("I live in Leeds.")
    for error, numbers in ((caught.value, (10, 7.5, 7.5)), (in_ledger.value, (10, 3, 3))):
        again = pickle.loads(pickle.dumps(error))  # noqa: S301
        assert str(again) == str(error)
        assert (again.needed, again.left, again.limit) == numbers
    assert (caught.value.scope, in_ledger.value.scope) == ("process", "conversation")


def test_every_error_survives_a_pickle() -> None:
    refused = pickle.loads(pickle.dumps(RequestRefused("no images", "image", 415)))  # noqa: S301
    assert (str(refused), refused.reason, refused.status) == ("no images", "image", 415)


def test_reprs_are_short_and_hold_nothing_private(
    sanitizer: Sanitizer, result: SanitizedText
) -> None:
    long = sanitizer.sanitize("word " * 1000 + PROMPT)
    for shown in (sanitizer, sanitizer.policy, result, result.record, long):
        assert len(repr(shown)) < 400
        assert "\n" not in repr(shown)
        assert not any(word in repr(shown) for word in ("anna", "joe@", "Zoltan"))
    assert str(result) == result.text


def test_a_notebook_shows_what_is_released_and_marks_it(result: SanitizedText) -> None:
    shown = result._repr_html_()
    assert "Write to <mark>&lt;EMAIL_1&gt;</mark>, or to &lt;<mark>&lt;EMAIL_2&gt;</mark>" in shown
    assert "&amp; co." in shown
    assert "anna" not in shown
    assert result.record.summary() in shown


def test_a_pickle_holds_no_originals_and_a_copy_does(result: SanitizedText) -> None:
    stored = pickle.dumps(result)
    assert b"anna" not in stored
    again = pickle.loads(stored)  # noqa: S301
    assert (again.text, again.record) == (result.text, result.record)
    assert [each.original for each in again.replacements] == ["", ""]
    for same in (copy.copy(result), copy.deepcopy(result)):
        assert same == result


def test_a_sanitizer_is_not_pickled(sanitizer: Sanitizer) -> None:
    with pytest.raises(TypeError, match="make one in each process"):
        pickle.dumps(sanitizer)


def test_coroutines_do_what_the_methods_do(sanitizer: Sanitizer) -> None:
    async def both_ways() -> tuple[list[str], str]:
        first = await sanitizer.asanitize(PROMPT)
        rest = await sanitizer.asanitize_batch(["Ask joe@example.org", "Ask nobody"])
        return [each.text for each in (first, *rest)], await sanitizer.arestore("<EMAIL_2>?")

    texts, answer = asyncio.run(both_ways())
    assert texts[1:] == ["Ask <EMAIL_2>", "Ask nobody"]
    assert answer == "joe@example.org?"


async def _slowly(pieces: list[str], read: list[str]) -> AsyncIterator[str]:
    for piece in pieces:
        await asyncio.sleep(0)
        read.append(piece)
        yield piece


def test_a_stream_is_restored_in_an_event_loop_piece_by_piece(sanitizer: Sanitizer) -> None:
    async def restored() -> list[str]:
        prompt = await sanitizer.asanitize(PROMPT)
        stream = sanitizer.arestored_stream(_slowly(["To <EM", "AIL_1>, ", "now."], []), prompt)
        found = [piece async for piece in stream]
        assert (stream.extracted, stream.note) == (False, None)
        assert [piece async for piece in stream] == []
        return found

    found = asyncio.run(restored())
    assert "".join(found) == "To anna@example.org, now."
    assert len(found) > 1


def test_a_stream_whose_api_breaks_off_raises_what_the_api_raised(sanitizer: Sanitizer) -> None:
    async def broken() -> AsyncIterator[str]:
        yield "Yes. "
        raise ConnectionError("gone")

    async def restored() -> list[str]:
        stream = sanitizer.arestored_stream(broken())
        found = [await anext(stream)]
        with pytest.raises(ConnectionError, match="gone"):
            await anext(stream)
        return found

    assert "".join(asyncio.run(restored())).strip() == "Yes."


def test_a_stream_that_nobody_waits_for_is_read_no_further(sanitizer: Sanitizer) -> None:
    read: list[str] = []

    async def endless() -> AsyncIterator[str]:
        yield "So it is. "
        await asyncio.Event().wait()
        read.append("more")

    async def given_up() -> None:
        stream = sanitizer.arestored_stream(endless())
        assert await anext(stream)
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.05):
                await anext(stream)
        with pytest.raises(StopAsyncIteration):
            await anext(stream)

    asyncio.run(given_up())
    assert read == []


def test_a_synthetic_text_prints_its_text() -> None:
    text = SynthesizedText("Once.", None)  # type: ignore[arg-type]
    assert (str(text), f"{text}", repr(text)) == ("Once.", "Once.", "'Once.'")


def test_a_ledger_shows_its_path_and_no_amounts(tmp_path: Path) -> None:
    with Ledger.create(tmp_path / "team.ledger", b"a key of sixteen bytes") as ledger:
        assert repr(ledger) == f"Ledger({str(tmp_path / 'team.ledger')!r})"


WRONG: list[tuple[Callable[[], object], type[Exception], str]] = [
    *(
        (partial(Sanitizer, **given), error, said)
        for given, error, said in (
            ({"vault": "my.vault"}, TypeError, r"vault=FileVault\(path\)"),
            ({"vault": Path("my.vault")}, TypeError, "vault must be an opened vault"),
            ({"ledger": "my.ledger", "conversation": "c"}, TypeError, r"ledger=Ledger\(path, key"),
            ({"conversation": 5}, TypeError, "conversation must be a str, got int"),
            ({"threads": 0}, ValueError, "threads must be at least 1, got 0"),
            ({"max_chars": "many"}, TypeError, "max_chars must be an int, got str"),
            ({"policy": "balancd"}, ValueError, "did you mean balanced"),
            ({"policy": 5}, TypeError, "policy must be a Policy, a name"),
        )
    ),
    *(
        (partial(policy, values), PolicyError, said)
        for policy in (Policy.from_dict, lambda values: Sanitizer(policy=values))
        for values, said in (
            ({"bas": "strict"}, r"bas: unknown key; known: name, base and, in tables, \[public\]"),
            ({"bas": "strict"}, "did you mean base"),
            ({"preset": "balanced"}, "did you mean base"),
            ({"classes": {"PERSON": "hide"}}, r"\[classes\] PERSON: must be one of"),
            ({"classes": 5}, "classes"),
            ({"publik": {"words": []}}, "unknown table; known: public, .*did you mean public"),
            ({"public": ["Jira"]}, "public: must be a table, with keys such as words"),
            ({"classes": {"CONDITIONS": "vault"}}, "did you mean CONDITION"),
        )
    ),
    (lambda: Policy.from_toml("nowhere"), PolicyError, "nowhere: cannot be read"),
    (lambda: Prompt("Translate {letter"), ValueError, r"^template: .*written twice"),
    (
        lambda: Sanitizer(policy="strict", model="/nowhere").sanitize("Leeds"),
        ModelError,
        "the model folder has no readable manifest",
    ),
]


@pytest.mark.parametrize(("call", "error", "said"), WRONG)
def test_a_wrong_argument_is_named(
    call: Callable[[], object], error: type[Exception], said: str
) -> None:
    with pytest.raises(error, match=said):
        call()


def test_roles_and_answers_of_another_type_are_named(sanitizer: Sanitizer) -> None:
    wrong: Any = 5
    with pytest.raises(TypeError, match="role must be a str"):
        sanitizer.sanitize("Hello", role=wrong)
    for roles, told in ((["user"], "fewer"), (["user", "user", "user"], "more")):
        with pytest.raises(ValueError, match=told):
            sanitizer.sanitize_batch(["Hello", "Bye"], role=roles)
    with pytest.raises(TypeError, match="answer must be a str, got int"):
        sanitizer.restore(wrong)
