"""A command in a network of its own, from which only two sockets of `sanitizer run` are reached.

This file is run as a program too, by a Python without this package: it enters the network, listens
there, hands the sockets to `run`, waits for what to run, and becomes that command. Sockets belong
to the network in which they were made, so `run` serves them and itself stays outside.

Guarantee: no address but those of the two sockets answers, and no name resolves.
Not protected: sockets in the file system, such as that of Docker.
"""

from __future__ import annotations

import ctypes
import json
import os
import socket
import struct
import subprocess
import sys
from contextlib import AbstractContextManager
from pathlib import Path

NEW_USER, NEW_NET = 0x10000000, 0x40000000
"""Flags of unshare(2), from linux/sched.h."""
GET_FLAGS, SET_FLAGS, UP = 0x8913, 0x8914, 1
"""Requests for an interface's flags, and the flag that it is up: netdevice(7)."""
NOT_FOUND, NOT_RUNNABLE = 127, 126
"""Exit statuses, as shells have them."""


class Sealed(AbstractContextManager["Sealed"]):
    """A network with loopback only, and the process in it that waits to become a command.

    Attributes:
        sockets: two that listen there on loopback.
        process: becomes the command once `start` was called.

    Raises:
        ValueError: this system makes no such network.
    """

    def __init__(self) -> None:
        if sys.platform != "linux":
            raise ValueError("--sealed needs Linux")
        self._channel, theirs = socket.socketpair()
        with theirs:
            self.process = subprocess.Popen(
                [sys.executable, "-I", str(Path(__file__)), str(theirs.fileno())],
                pass_fds=[theirs.fileno()],
            )
        said, numbers, _, _ = socket.recv_fds(self._channel, 1000, 2)
        if not numbers:
            self._channel.close()
            self.process.wait()
            raise ValueError(
                "--sealed: this system does not let this user make a separate network"
                f" ({said.decode() or 'it failed'}); without --sealed, programs that ignore"
                " HTTPS_PROXY can reach any host"
            )
        self.sockets = [socket.socket(fileno=number) for number in numbers]

    def __exit__(self, *_: object) -> None:
        self._channel.close()  # a process that was given no command ends by it
        for each in self.sockets:
            each.close()
        self.process.wait()

    def start(self, command: list[str], environment: dict[str, str]) -> None:
        """Let the process become the command."""
        with self._channel as channel:
            channel.sendall(json.dumps([command, environment]).encode())


def _enter() -> None:
    """Enter a network of its own as the same user; raise OSError if the kernel refuses."""
    import fcntl  # not there on Windows, where `run` still is

    user, group = os.getuid(), os.getgid()
    if ctypes.CDLL(None, use_errno=True).unshare(NEW_USER | NEW_NET):
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    Path("/proc/self/setgroups").write_text("deny")
    Path("/proc/self/uid_map").write_text(f"{user} {user} 1")
    Path("/proc/self/gid_map").write_text(f"{group} {group} 1")
    with socket.socket() as any_socket:
        request = struct.pack("16sh14x", b"lo", 0)
        flags = struct.unpack("16sh14x", fcntl.ioctl(any_socket, GET_FLAGS, request))[1]
        fcntl.ioctl(any_socket, SET_FLAGS, struct.pack("16sh14x", b"lo", flags | UP))


def _main() -> None:
    with socket.socket(fileno=int(sys.argv[1])) as channel:
        try:
            _enter()
        except OSError as error:
            channel.sendall(str(error.strerror).encode())
            return
        sockets = [socket.create_server(("127.0.0.1", 0), backlog=2048) for _ in range(2)]
        socket.send_fds(channel, [b"."], [each.fileno() for each in sockets])
        for each in sockets:
            each.close()
        with channel.makefile("rb") as told:
            said = told.read()
    if said:
        command, environment = json.loads(said)
        os.execvpe(command[0], command, environment)  # noqa: S606  what `run` was asked to run


if __name__ == "__main__":
    try:
        _main()
    except FileNotFoundError:
        sys.exit(NOT_FOUND)
    except OSError:
        sys.exit(NOT_RUNNABLE)
