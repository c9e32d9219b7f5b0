"""Threads and processes share a vault; one that is killed loses nothing it gave out."""

from __future__ import annotations

import json
import threading
from pathlib import Path

from sanitizer.storage.stored_vault import FileVault
from sanitizer.storage.vault import placeholders
from tests.storage.processes import started
from tests.storage.vault_contract import (
    KEY,
)

WORKER = """
import json, sys
import sanitizer.storage.sealing, sanitizer.storage.stored_vault
from sanitizer.storage.table import Wanted
sanitizer.storage.sealing.SCRYPT_N = 16
vault = sanitizer.storage.stored_vault.FileVault(sys.argv[1], bytes.fromhex(sys.argv[2]))
for i in range(int(sys.argv[3]), int(sys.argv[4])):
    wanted = [("EMAIL", f"{i}@example.org"), ("EMAIL", f"{i + 1}@example.org")]
    with vault.edit("c") as table:
        table.tag = 0
        values = [table.hide(Wanted(*each)) for each in wanted]
    print(json.dumps([[o, v] for (_, o), v in zip(wanted, values)]), flush=True)
"""


def test_processes_that_make_and_use_one_vault_agree(vault_path: Path) -> None:
    workers = [started(WORKER, vault_path, begin, begin + 30) for begin in (0, 10, 20)]
    lines = [line for worker in workers for line in worker.communicate()[0].splitlines()]
    assert [worker.returncode for worker in workers] == [0, 0, 0]
    pairs = {(original, value) for line in lines for original, value in json.loads(line)}
    assert len(pairs) == len({value for _, value in pairs}) == 51
    with FileVault(vault_path, KEY, create=False) as vault:
        assert vault.originals("c") == {value: original for original, value in pairs}
        assert set(vault.originals("c")) == {f"<EMAIL_{n}>" for n in range(1, 52)}


def test_a_killed_process_loses_nothing_it_gave_out(vault_path: Path) -> None:
    for attempt, n_lines in enumerate((1, 7, 20)):
        with started(WORKER, vault_path, 1000 * attempt, 1000 * attempt + 900) as victim:
            assert victim.stdout is not None
            lines = [victim.stdout.readline() for _ in range(n_lines)]
            victim.kill()
            lines += [line for line in victim.stdout.readlines() if line.endswith("\n")]
        with FileVault(vault_path, KEY, create=False) as vault:
            originals = dict(vault.originals("c"))
            assert all(
                originals[value] == original
                for line in lines
                for original, value in json.loads(line)
            )
            (fresh,) = placeholders(vault, "c", [("EMAIL", f"after {attempt}")])
            assert fresh not in originals


def test_readers_and_writers_take_turns(vault: FileVault, vault_path: Path) -> None:
    with FileVault(vault_path, KEY) as other:
        done = threading.Event()

        def write() -> None:
            for i in range(30):
                placeholders(other, "c", [("TEXT", str(i))])
            done.set()

        writer = threading.Thread(target=write)
        writer.start()
        seen = [0]
        while not done.is_set():
            originals = dict(vault.originals("c"))
            assert originals == {f"<TEXT_{i + 1}>": str(i) for i in range(len(originals))}
            seen.append(len(originals))
        writer.join()
        assert seen == sorted(seen)
        assert len(vault.originals("c")) == 30
