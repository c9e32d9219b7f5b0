"""Random texts for round trips: words of the prompts, things to hide, Unicode, code and JSON.

Everything is invented or random; equal seeds give equal texts. Pieces are glued with and without
spaces, so that things touch each other, words and punctuation in every way.
"""

from __future__ import annotations

import csv
import io
import json
import random
import tomllib
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path

from benchmarks.usefulness.prompts import labelled
from sanitizer.detect.classes import class_members

RANDOM = tomllib.loads(Path(__file__).with_name("cases.toml").read_text("utf-8"))["random"]
UNICODE = (
    "naïve \u00a0 \u200b \u200d e\u0301 ﬁ Ａｄａ 中文字 日本 мир שלום سلام ไทย 🙂 👩\u200d⚕️ ½ ① ǅ "
    "İ ı ß ẞ \u2028 \ufeff \u202e \ud800 \x00 \x07 … “x” ’s — «y» ٣٤ ᾳ ﷺ"
).split(" ")
LETTERS = "abcdefghijkmnpqrstuvwxyzABCDEFGHJKLMNPQRSTUVWXYZ23456789"


@cache
def prompt_words() -> tuple[str, ...]:
    """Return the words of the open prompts, with their punctuation."""
    return tuple(sorted({word for prompt in labelled("open") for word in prompt.text.split()}))


@cache
def listed() -> tuple[str, ...]:
    """Return names of illnesses, beliefs, origins and crimes."""
    kinds = ("CONDITION", "BELIEF", "ORIGIN", "CRIME")
    return tuple(name for kind in kinds for name in class_members(kind))


class Texts:
    """Iterator over random texts.

    Args:
        seed: equal seeds give equal texts.
        longest: most pieces of a text.
    """

    def __init__(self, seed: int, longest: int = 40) -> None:
        self._random = random.Random(seed)
        self._longest = longest
        self._things: list[str] = []
        self._makers: tuple[tuple[Callable[[], str], int], ...] = (
            (lambda: self._one(prompt_words()), 30),
            (self._thing, 14),
            (self._again, 6),
            (lambda: self._one(listed()), 3),
            (lambda: self._one(UNICODE), 4),
            (lambda: self._one(RANDOM["placeholders"]), 2),
            (self._code, 2),
            (self._json, 1),
            (self._csv, 1),
            (self._noise, 2),
        )

    def __iter__(self) -> Iterator[str]:
        while True:
            yield self.text()

    def text(self) -> str:
        """Return the next text; now and then it names things of the last ones again."""
        if self._random.random() < 0.2:
            self._things.clear()
        makers, weights = zip(*self._makers, strict=True)
        parts = []
        for make in self._random.choices(makers, weights, k=self._random.randint(1, self._longest)):
            parts += [make(), self._one(RANDOM["glue"])]
        return "".join(parts)

    def splits(self, text: str) -> list[str]:
        """Return a text in random pieces, as a stream may bring it."""
        at, pieces = 0, []
        while at < len(text):
            end = at + self._random.choice((1, 1, 2, 3, 5, 8, 20))
            pieces.append(text[at:end])
            at = end
        return pieces

    def _one(self, of: tuple[str, ...] | list[str]) -> str:
        return self._random.choice(of)

    def _thing(self) -> str:
        makers: tuple[Callable[[], str], ...] = (
            self._person,
            self._email,
            self._phone,
            self._money,
            self._date,
            self._key,
            self._card,
            self._host,
            self._id,
            lambda: self._one(RANDOM["firms"]),
            lambda: self._one(RANDOM["places"]),
            lambda: str(self._random.randrange(10**6)),
        )
        thing = self._random.choice(makers)()
        self._things.append(thing)
        return thing

    def _again(self) -> str:
        """Return an earlier thing in another case, or a part of it."""
        if not self._things:
            return self._thing()
        thing = self._one(self._things)
        words = thing.split()
        return self._one([thing, thing.upper(), thing.lower(), words[-1], words[0], thing.title()])

    def _person(self) -> str:
        first = self._one(RANDOM["first"])
        return f"{first} {self._one(RANDOM['last'])}" if self._random.random() < 0.7 else first

    def _email(self) -> str:
        user = f"{self._one(RANDOM['first']).lower()}.{self._random.randrange(100)}"
        return f"{user}@example.{self._one(['org', 'co.uk'])}"

    def _phone(self) -> str:
        form = self._one(
            ["+44 20 7946 0{:03}", "(555) 010-0{:03}", "01522 555 {:03}", "+1-202-555-0{:03}"]
        )
        return form.format(self._random.randrange(1000))

    def _money(self) -> str:
        return self._one(["£{:,}", "${:,}.50", "{:,} euros", "EUR {}", "{}k"]).format(
            self._random.randrange(10**5)
        )

    def _date(self) -> str:
        day, year = self._random.randint(1, 28), self._random.randint(1930, 2026)
        return self._one(
            ["{0} March {1}", "{1}-03-{0:02}", "03/{0:02}/{1}", "March {0}", "{1}"]
        ).format(day, year)

    def _key(self) -> str:
        return self._one(["sk-", "ghp_", "AKIA", ""]) + "".join(self._random.choices(LETTERS, k=32))

    def _card(self) -> str:
        digits = [4, *self._random.choices(range(10), k=14)]
        doubled = sum(sum(divmod(2 * d, 10)) if i % 2 == 0 else d for i, d in enumerate(digits))
        whole = "".join(map(str, [*digits, -doubled % 10]))
        return self._one([whole, " ".join(whole[i : i + 4] for i in range(0, 16, 4))])

    def _host(self) -> str:
        return self._one(["db-{}.example.org", "10.0.{}.7", "fe80::{}", "srv{}"]).format(
            self._random.randrange(256)
        )

    def _id(self) -> str:
        return self._one(["WX-{}", "K{}", "GH/22-{}", "#{}", "case {}"]).format(
            self._random.randrange(10**5)
        )

    def _values(self) -> dict[str, object]:
        makers: dict[str, Callable[[], object]] = {
            "person": self._person,
            "first": lambda: self._one(RANDOM["first"]),
            "last": lambda: self._one(RANDOM["last"]),
            "email": self._email,
            "phone": self._phone,
            "money": self._money,
            "date": self._date,
            "key": self._key,
            "host": self._host,
            "firm": lambda: self._one(RANDOM["firms"]),
            "n": lambda: self._random.randrange(1000),
            "d": lambda: self._random.randrange(1, 9),
        }
        return {name: make() for name, make in makers.items()}

    def _code(self) -> str:
        return self._one(RANDOM["code"]).format(**self._values())

    def _json(self) -> str:
        values = self._values()
        some = {key: values[key] for key in self._random.sample(sorted(values), 4)}
        whole = {"patient": some, "visits": [1, 2.5, None, True], "note": self._one(prompt_words())}
        return json.dumps(whole, ensure_ascii=self._random.random() < 0.5,
                          indent=self._random.choice([None, 2]))  # fmt: skip

    def _csv(self) -> str:
        lines = io.StringIO()
        writer = csv.writer(lines)
        writer.writerow(["name", "email", "salary", "hours"])
        for _ in range(self._random.randint(1, 3)):
            writer.writerow(
                [self._person(), self._email(), self._money(), self._random.randrange(60)]
            )
        return lines.getvalue()

    def _noise(self) -> str:
        blocks = ((32, 127), (0x2000, 0x2100), (0xA0, 0x3000))
        some = self._random.choices(blocks, k=self._random.randint(1, 6))
        return "".join(chr(self._random.randrange(*block)) for block in some)
