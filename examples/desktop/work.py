"""Slow work, off the interface's thread; results come back as signals."""

from __future__ import annotations

import queue
import threading
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, Signal, SignalInstance

from .sentences import failure
from .wish import REDRAWN, Cancelled, Target, Wish

if TYPE_CHECKING:
    from .desk import Desk, Preview


class Work(QObject):
    """Previews in one thread, the newest only, and sending in another.

    Args:
        budget: the most epsilon to spend in all.
        parent: Qt's owner of this object.
    """

    ready = Signal()
    previewed = Signal(object)  # Preview
    preview_failed = Signal(str)
    said = Signal(str)  # a piece of the restored answer
    sent = Signal()
    send_failed = Signal(str)
    spent = Signal(float)  # epsilon spent so far

    def __init__(self, budget: float, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._budget = budget
        self._desk: Desk | None = None
        self._wishes: queue.SimpleQueue[tuple[Wish, threading.Event] | None] = queue.SimpleQueue()
        self._cancelled, self._stopped = threading.Event(), threading.Event()
        self._emitting = threading.Lock()
        self._previews = threading.Thread(target=self._run_previews)

    def start(self) -> None:
        """Load the model, then draw previews as they are asked for."""
        self._previews.start()

    def preview(self, wish: Wish) -> None:
        """Draw this preview; cancel the one being drawn or waiting."""
        self.cancel()
        self._cancelled = threading.Event()
        self._wishes.put((wish, self._cancelled))

    def cancel(self) -> None:
        """Cancel the preview being drawn or waiting."""
        self._cancelled.set()

    def send(self, preview: Preview, target: Target) -> None:
        """Charge and send what was previewed."""
        assert self._desk is not None, "nothing was previewed"
        # A daemon: a request that hangs does not keep the program alive when its window is closed.
        threading.Thread(
            target=self._run_send, args=(self._desk, preview, target), daemon=True
        ).start()

    def stop(self) -> None:
        """Emit no more signals; leave the preview at its next word. A request ends with the
        process.
        """
        with self._emitting:
            self._stopped.set()
        self.cancel()
        self._wishes.put(None)
        self._previews.join()

    def _run_previews(self) -> None:
        from .desk import Desk  # here, because the SDK's libraries load slower than the window

        self._desk = Desk(self._budget)
        try:
            self._desk.load()
        except Exception as error:
            self._emit(self.preview_failed, failure(error))
        self._emit(self.ready)
        for wish, cancelled in iter(self._wishes.get, None):
            self._draw(self._desk, wish, cancelled)

    def _draw(self, desk: Desk, wish: Wish, cancelled: threading.Event) -> None:
        if cancelled.is_set():
            return
        try:
            self._emit(self.previewed, desk.preview(wish, cancelled))
        except Cancelled:
            pass
        except Exception as error:
            if not cancelled.is_set():
                self._emit(self.preview_failed, failure(error))

    def _run_send(self, desk: Desk, preview: Preview, target: Target) -> None:
        try:
            answer = desk.send(preview, target)
            self._emit(self.spent, desk.spent)
            for piece in answer:
                if self._stopped.is_set():
                    return
                self._emit(self.said, piece)
        except Exception as error:
            if str(error) == REDRAWN:
                self._emit(self.spent, desk.spent)
            self._emit(self.send_failed, failure(error))
        else:
            self._emit(self.sent)

    def _emit(self, signal: SignalInstance, *values: object) -> None:
        with self._emitting:
            if not self._stopped.is_set():
                signal.emit(*values)
