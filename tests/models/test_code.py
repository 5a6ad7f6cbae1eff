"""Machine code is made, kept, loaded and forgotten as it should be."""

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

import models.compiled
from models.compiled import code
from models.kernels import store
from models.kernels.processor import DECODER, ENCODER, is_worth_it
from models.once import once

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="helpers sleep as they do in Linux")


def test_code_is_kept_apart_for_each_state_of_its_sources_where_it_can_be(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = store.folder.__wrapped__
    monkeypatch.setattr(store, "user_cache_path", lambda name: tmp_path / name)
    kept = folder()
    assert kept.parent == tmp_path / "clearhead" / "compiled" and kept.is_dir()
    (tmp_path / "file").write_text("")
    monkeypatch.setattr(store, "user_cache_path", lambda name: tmp_path / "file" / name)
    passing = folder()
    assert passing.is_dir() and os.access(passing, os.W_OK) and tmp_path not in passing.parents


def test_code_that_nobody_has_loaded_for_long_is_forgotten(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(store, "user_cache_path", lambda name: tmp_path / name)
    monkeypatch.setattr(store, "folder", store.folder.__wrapped__)
    own = store.folder()
    used, left = own.parent / "used", own.parent / "left"
    for state in (own, used, left):
        state.mkdir(exist_ok=True)
        (state / "decoder.o").write_bytes(b"code")
    long_ago = time.time() - store.FORGOTTEN_AFTER_S - 60
    os.utime(own, (long_ago, long_ago))
    os.utime(left, (long_ago, long_ago))
    store.forget_others()
    assert sorted(own.parent.iterdir()) == sorted([own, used])
    # Whoever loads code keeps it for so long again.
    assert own.stat().st_mtime > long_ago + 60
    # What is kept for one process has no others beside it.
    monkeypatch.setattr(store, "user_cache_path", lambda name: tmp_path / "file" / name)
    (tmp_path / "file").write_bytes(b"")
    passing = store.folder()
    beside = passing.parent / "clearhead-test-beside"
    beside.mkdir(exist_ok=True)
    os.utime(beside, (long_ago, long_ago))
    try:
        store.forget_others()
        assert beside.exists()
    finally:
        beside.rmdir()


def test_code_is_made_by_another_process_and_needs_nothing_of_numba(tmp_path: Path) -> None:
    def run(*arguments: str) -> str:
        elsewhere = os.environ | {"XDG_CACHE_HOME": str(tmp_path)}
        command, root = [sys.executable, *arguments], Path(store.__file__).parents[2]
        return subprocess.run(command, cwd=root, env=elsewhere, check=True, capture_output=True, text=True).stdout  # noqa: S603

    def made() -> list[tuple[str, int]]:
        return [(each.name, each.stat().st_mtime_ns) for each in tmp_path.glob("clearhead/compiled/*/*")]

    run("-m", "models.kernels", "helping")
    first = made()
    assert [name for name, _ in first] == ["helping.o"]
    run("-m", "models.kernels", "helping")
    assert made() == first, "it was there"
    script = "import sys, models.compiled.helpers as h; h.helpers(); print('numba' in sys.modules)"
    assert run("-c", script).strip() == "False"
    # Damaged: loaded as it is, it would end the process.
    (kept,) = tmp_path.glob("clearhead/compiled/*/helping.o")
    whole = kept.read_bytes()
    kept.write_bytes(whole[: len(whole) // 2])
    assert run("-c", script).strip() == "False"
    # Made anew, where a temporary file's name may differ by a few letters: whole, as its checksum says.
    assert store.read("helping", kept.parent) is not None


@pytest.mark.parametrize("damage", [b"", b"co", b"x" * 40, bytes(3)], ids=["empty", "short", "other", "zeros"])
def test_damaged_code_counts_as_none_and_is_deleted(damage: bytes, tmp_path: Path) -> None:
    store.keep("decoder", b"code" * 100, tmp_path)
    assert store.read("decoder", tmp_path) == b"code" * 100
    kept = store.path_of("decoder", tmp_path)
    whole = kept.read_bytes()
    for damaged in (damage, whole[:-3] + damage[:3], whole[:50] + damage + whole[60:]):
        kept.write_bytes(damaged)
        assert (store.read("decoder", tmp_path) is None) == (damaged != whole)
        assert kept.exists() == (damaged == whole)
        store.keep("decoder", b"code" * 100, tmp_path)
    assert store.read("encoder", tmp_path) is None


_SCATTERED = """
import ctypes
from models.compiled.code import address_of, wait_for
from models.kernels.processor import DECODER

assert wait_for(DECODER)
libc = ctypes.CDLL(None)
libc.mmap.restype = ctypes.c_void_p
libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, *[ctypes.c_int] * 3, ctypes.c_long]
libc.munmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t]

def reserved(size):
    # Private, of no file, and of nobody's memory until it is used.
    return libc.mmap(None, size, 0, 0x4022, -1, 0)

# Four gigabytes, above which no room is left but for a page: what is larger will lie below them.
wall = reserved(4 << 30)
for size in (1 << 30, 1 << 24, 1 << 20, 1 << 16, 1 << 14):
    while (last := reserved(size)) > wall:
        page = last
    libc.munmap(last, size)
libc.munmap(page, 4096)
print(address_of(DECODER, DECODER) > 0)
"""


def test_code_is_loaded_wherever_there_is_room_for_its_parts() -> None:
    command, root = [sys.executable, "-c", _SCATTERED], Path(store.__file__).parents[2]
    run = subprocess.run(command, cwd=root, capture_output=True, text=True, check=False)  # noqa: S603
    assert run.stdout.strip() == "True", run.stderr


def test_code_that_is_not_there_is_made_or_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[str] = []

    class Making:
        def __init__(self, *names: str) -> None:
            made.extend(names)

        def wait(self, _longest_s: float) -> int:
            return 1

    monkeypatch.setattr(code, "is_there", lambda _name: False)
    monkeypatch.setattr(store, "begin_to_make", Making)
    monkeypatch.setattr(code, "begin", once(code.begin.__wrapped__))  # type: ignore[attr-defined]
    code.begin(ENCODER)
    code.begin(ENCODER)
    assert made == ["helping", ENCODER]
    assert not code.wait_for(DECODER)
    assert made == ["helping", ENCODER, "helping", DECODER]


def test_who_makes_code_and_who_runs_it_agree_on_what_a_processor_gains_by() -> None:
    assert is_worth_it(DECODER) == models.compiled.reads_decoders()
    assert is_worth_it(ENCODER) == models.compiled.reads_encoders()
