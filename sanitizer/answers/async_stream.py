"""An answer that comes in pieces in an event loop, restored in a thread beside it."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterable, AsyncIterator, Callable, Iterable, Iterator
from queue import SimpleQueue

from sanitizer.answers.extractors import AnswerStream

_Passed = str | BaseException | None
"""A piece; an error that ends the stream; None at its end."""


class AsyncAnswerStream(AsyncIterator[str]):
    """Answer as the user reads it, piece by piece; vault and extractor never hold the loop up.

    The thread begins with the first piece that is asked for, and ends with the answer, or with
    `aclose`, which ends the pieces too.

    >>> async def pieces() -> AsyncIterator[str]:
    ...     yield "Write to <EM"
    ...     yield "AIL_1>."
    >>> async def main() -> str:
    ...     from sanitizer import Sanitizer
    ...     sanitizer = Sanitizer(policy="identifiers")
    ...     prompt = sanitizer.sanitize("Who is anna@example.org?")
    ...     stream = sanitizer.arestored_stream(pieces(), prompt)
    ...     return "".join([piece async for piece in stream])
    >>> asyncio.run(main())
    'Write to anna@example.org.'

    Args:
        pieces: the noisy answer, as it comes.
        opened: makes the stream that restores; called in the thread, and may read a vault.

    Attributes:
        extracted, note: as those of `AnswerStream`; final after the last piece.
    """

    def __init__(
        self, pieces: AsyncIterable[str], opened: Callable[[Iterable[str]], AnswerStream]
    ) -> None:
        self.extracted = False
        self.note: str | None = None
        self._pieces = pieces
        self._opened = opened
        self._given: SimpleQueue[_Passed] = SimpleQueue()
        self._shown: asyncio.Queue[_Passed] = asyncio.Queue()
        self._feeder: asyncio.Task[None] | None = None
        self._ended = False

    async def __anext__(self) -> str:
        if self._ended:
            raise StopAsyncIteration
        if self._feeder is None:
            self._begin()
        try:
            shown = await self._shown.get()
        except asyncio.CancelledError:
            await self.aclose()
            raise
        if isinstance(shown, str):
            return shown
        await self.aclose()
        raise StopAsyncIteration if shown is None else shown

    async def aclose(self) -> None:
        """End the stream: nothing more is read or shown."""
        self._ended = True
        if self._feeder is not None:
            self._feeder.cancel()
            await asyncio.gather(self._feeder, return_exceptions=True)

    def _begin(self) -> None:
        self._feeder = asyncio.create_task(self._feed())
        loop = asyncio.get_running_loop()

        def show(piece: _Passed) -> None:
            if not loop.is_closed():
                loop.call_soon_threadsafe(self._shown.put_nowait, piece)

        # Not of the loop's pool: one that waits for a slow API would keep others from working.
        threading.Thread(target=self._restore, args=(show,), daemon=True).start()

    async def _feed(self) -> None:
        """Hand each piece to the thread, then how it ended."""
        end: _Passed = None
        try:
            async for piece in self._pieces:
                self._given.put(piece)
        except BaseException as error:
            end = error
            if isinstance(error, asyncio.CancelledError):
                raise
        finally:
            self._given.put(end)

    def _restore(self, show: Callable[[_Passed], None]) -> None:
        try:
            stream = self._opened(self._received())
            for piece in stream:
                show(piece)
            self.extracted, self.note = stream.extracted, stream.note
            show(None)
        except BaseException as error:
            show(error)

    def _received(self) -> Iterator[str]:
        while (piece := self._given.get()) is not None:
            if isinstance(piece, BaseException):
                raise piece
            yield piece
