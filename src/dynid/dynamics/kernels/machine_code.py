"""Machine code of kernels from the intermediate code of LLVM that comes with dynid: no first call waits for numba.

numba takes seconds from Python to LLVM's intermediate code, and LLVM a few tenths of one from there to machine code. So
the first part is done beforehand, by ``make kernels``, for the kernels that every job needs; the second on the first
call on a machine, for its processor, and kept on disk. Intermediate code of other sources than those beside it is not
used.
"""

from __future__ import annotations

import contextlib
import ctypes
import functools
import gzip
import hashlib
import os
import secrets
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

from dynid.arrays import Array

__all__ = ["INTERMEDIATE", "SOURCES", "array_fields", "machine_kernel", "sources_digest"]

HERE = Path(__file__).parent
SOURCES = tuple(HERE / name for name in ("chains.py", "batch.py", "paths.py"))
"""What the intermediate code is made of."""
INTERMEDIATE = HERE / "kernels.ll.gz"
"""The intermediate code, vectorised, for any processor; its first line is a comment with the digest of `SOURCES`."""
DIGEST_BYTES = 32
"""Length of a SHA-256 digest, which comes before machine code on disk: half a file is not run."""
_LOCK = threading.Lock()


def sources_digest() -> str:
    """SHA-256 of the sources of the kernels."""
    return hashlib.sha256(b"".join(path.read_bytes() for path in SOURCES)).hexdigest()


@functools.cache
def machine_kernel(name: str) -> Callable[[ctypes.Array[ctypes.c_int64]], int] | None:
    """A kernel that takes a table of numbers, with `array_fields` for each array, and releases the interpreter lock.

    None where the intermediate code is not of these sources, or where this LLVM cannot read it: numba has to compile.
    """
    with _LOCK:
        engine = _engine()
    if engine is None:
        return None
    return ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_void_p)(engine.get_function_address(name))


def array_fields(array: Array) -> tuple[int, ...]:
    """An array as numba hands it to compiled code: owner, object, size, bytes an item, address, shape, strides."""
    return (0, 0, array.size, array.itemsize, array.__array_interface__["data"][0], *array.shape, *array.strides)


@functools.cache
def _engine() -> Any:
    """What holds the machine code while the process lives."""
    try:
        text = gzip.decompress(INTERMEDIATE.read_bytes()).decode("ascii")
    except FileNotFoundError:
        return None
    if text.partition("\n")[0] != f"; {sources_digest()}":
        return None
    import llvmlite
    import llvmlite.binding as llvm

    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    target = llvm.Target.from_triple(llvm.get_process_triple())
    processor = llvm.get_host_cpu_name(), llvm.get_host_cpu_features().flatten()
    machine = target.create_target_machine(
        *processor,
        opt=3,
        reloc="static" if target.name.startswith("x86") else "default",  # as numba does for code that stays here
        codemodel="jitdefault",
        jit=True,
    )
    engine = llvm.create_mcjit_compiler(llvm.parse_assembly(""), machine)
    key = hashlib.sha256("\n".join([llvmlite.__version__, target.triple, *processor, text]).encode()).hexdigest()[:16]
    found = _read(key)
    if found is None:
        try:
            module = llvm.parse_assembly(text)
        except RuntimeError:  # an LLVM that is older than the one that wrote it
            return None
        module.triple = target.triple
        module.data_layout = str(engine.target_data)
        found = machine.emit_object(module)
        _keep(key, found)
    engine.add_object_file(llvm.ObjectFileRef.from_data(found))
    engine.finalize_object()
    return engine


def _folders() -> tuple[Path, ...]:
    """Where machine code may lie: where numba is told to keep its own, else beside the bytecode, or at the user's."""
    told = os.environ.get("NUMBA_CACHE_DIR")
    if told:
        return (Path(told),)
    kept = os.environ.get("XDG_CACHE_HOME")
    return HERE / "__pycache__", (Path(kept) if kept else Path.home() / ".cache") / "dynid"


def _read(key: str) -> bytes | None:
    for folder in _folders():
        with contextlib.suppress(OSError):
            content = (folder / f"kernels-{key}.o").read_bytes()
            if hashlib.sha256(content[DIGEST_BYTES:]).digest() == content[:DIGEST_BYTES]:
                return content[DIGEST_BYTES:]
    return None


def _keep(key: str, code: bytes) -> None:
    """Put machine code into the first folder that takes it; where none does, the next process compiles again."""
    for folder in _folders():
        part = folder / f".kernels-{key}.{secrets.token_hex(4)}.part"
        with contextlib.suppress(OSError):
            folder.mkdir(parents=True, exist_ok=True)
            part.write_bytes(hashlib.sha256(code).digest() + code)
            part.replace(folder / f"kernels-{key}.o")
            return
        with contextlib.suppress(OSError):
            part.unlink()
