"""Machine code of kernels from the intermediate code of LLVM that comes with dynid: no first call waits for numba.

numba takes seconds, for the filters a minute, from Python to LLVM's intermediate code, and LLVM a second or two from
there to machine code. So the first part is done beforehand, by ``make kernels``; the second on the first call on a
machine, for its processor, and kept on disk. Intermediate code of other sources than those beside it is not used.
"""

from __future__ import annotations

import contextlib
import ctypes
import functools
import gzip
import hashlib
import os
import re
import secrets
import threading
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dynid.arrays import Array

__all__ = ["BATCH", "Bundle", "MachineKernel", "array_fields", "keep_machine_code", "machine_kernel"]

HERE = Path(__file__).parent
ROOT = HERE.parent.parent
DIGEST_BYTES = 32
"""Length of a SHA-256 digest, which comes before machine code on disk: half a file is not run."""
_LOCK = threading.Lock()
MachineKernel = Callable[[Any], int]
"""Takes a table of numbers, with `array_fields` for each array, and releases the interpreter lock."""


@dataclass(frozen=True)
class Bundle:
    """Kernels whose intermediate code comes in one file: vectorised, and for any processor."""

    file: Path
    """Its first line is a comment with the digest of the sources."""
    sources: tuple[Path, ...]
    """What the intermediate code is made of."""
    digest: str
    """SHA-256 of the sources as they were imported: those on disk may be of another dynid by the time of a call."""

    @classmethod
    def of(cls, name: str, sources: tuple[str, ...]) -> Bundle:
        """The file and its sources by their places in dynid, as dynamics/kernels/batch.py."""
        paths = tuple(ROOT / source for source in sources)
        digest = hashlib.sha256(b"".join(path.read_bytes() for path in paths)).hexdigest()
        return cls(ROOT / name, paths, digest)


BATCH = Bundle.of(
    "dynamics/kernels/kernels.ll.gz",
    tuple(f"dynamics/kernels/{name}.py" for name in ("chains", "batch", "paths", "formulas")),
)
"""The kernels that every job needs."""


@functools.cache
def machine_kernel(bundle: Bundle, name: str) -> MachineKernel | None:
    """A kernel of a bundle.

    None where the intermediate code has none of that name, is not of these sources, or cannot be read by this LLVM:
    numba has to compile.
    """
    with _LOCK:
        engine, names = _engine(bundle)
    return _callable(engine, name) if name in names else None


def keep_machine_code(name: str, key: str, translated: Callable[[], str]) -> MachineKernel:
    """A kernel from intermediate code that is made only where its machine code is not on disk by the digest `key`."""
    with _LOCK:
        return _callable(_loaded(key, translated), name)


def array_fields(array: Array) -> tuple[int, ...]:
    """An array as numba hands it to compiled code: owner, object, size, bytes an item, address, shape, strides."""
    return (0, 0, array.size, array.itemsize, array.__array_interface__["data"][0], *array.shape, *array.strides)


def _callable(engine: Any, name: str) -> MachineKernel:
    called: Any = ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_void_p)(engine.get_function_address(name))
    called.engine = engine  # the machine code lives no longer than it
    return called


@functools.cache
def _engine(bundle: Bundle) -> tuple[Any, frozenset[str]]:
    """What holds the machine code of a bundle while the process lives, and the names of its kernels."""
    try:
        text = gzip.decompress(bundle.file.read_bytes()).decode("ascii")
    except FileNotFoundError:
        return None, frozenset()
    if text.partition("\n")[0] != f"; {bundle.digest}":
        return None, frozenset()
    try:
        engine = _loaded(text, lambda: text)
    except RuntimeError:  # an LLVM that is older than the one that wrote it
        return None, frozenset()
    return engine, frozenset(re.findall(r"(?m)^define i32 @(\w+)\(ptr %table\)", text))


def _loaded(source: str, translated: Callable[[], str]) -> Any:
    """An engine with the machine code of what `translated` gives; it stands on disk by the digest of `source`."""
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
    key = hashlib.sha256("\n".join([llvmlite.__version__, target.triple, *processor, source]).encode()).hexdigest()[:16]
    found = _read(key)
    if found is None:
        module = llvm.parse_assembly(translated())
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
