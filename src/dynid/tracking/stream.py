"""Where samples come from: a log replayed, a socket, or any Python iterator."""

from __future__ import annotations

import json
import socket
import time
from collections.abc import Iterable, Iterator, Mapping

import numpy as np

from dynid.arrays import Array, Float
from dynid.dynamics.motion import Motion
from dynid.errors import TrackingError
from dynid.recording.recording import Recording
from dynid.tracking.kinematics import KinematicFilter
from dynid.tracking.samples import Sample

__all__ = ["LOOPBACK", "replay", "samples_of", "samples_of_motion", "udp_samples", "with_kinematics"]

LOOPBACK = "127.0.0.1"
"""Where `udp_samples` listens unless told otherwise: no other machine can reach it."""
MAX_DATAGRAM = 65535
"""Bytes."""
_VECTORS = ("q", "dq", "ddq", "tau", "base_wrench", "tool_wrench")
"""Keys of a sample beside its time."""


def replay(recording: Recording, *, speed: float | None = None) -> Iterator[Sample]:
    """The samples of a log (SI), at `speed` times real time (1.0 is real time) or, where None, at full speed."""
    if speed is not None and not speed > 0.0:
        raise TrackingError(f"a replay at {speed:g} times real time never ends; choose a speed above zero")
    started, first = time.monotonic(), float(recording.t[0])
    fields = [getattr(recording, name) for name in _VECTORS]
    for k, t in enumerate(recording.t):
        if speed is not None:
            ahead = (float(t) - first) / speed - (time.monotonic() - started)
            if ahead > 0.0:
                time.sleep(ahead)
        q, *others = (None if field is None else field[k] for field in fields)
        assert q is not None
        yield Sample(float(t), q, *others)


def samples_of_motion(motion: Motion, tau: Float[Array, "n_samples n_dof"]) -> Iterator[Sample]:
    """The samples of a motion with its torque (N·m or N)."""
    for k in range(motion.n_samples):
        yield Sample(float(motion.t[k]), motion.q[k], motion.dq[k], motion.ddq[k], tau[k])


def samples_of(items: Iterable[Mapping[str, object]], n_dof: int) -> Iterator[Sample]:
    """Samples of any iterator of mappings with keys t, q and, where measured, dq, ddq, tau, base_wrench, tool_wrench.

    Lists may hold None or nan where a value is missing (SI); the filter skips and counts such samples.

    Raises:
        TrackingError: an item without t or q, or with the wrong number of joints.
    """
    for number, item in enumerate(items):
        yield _sample(item, n_dof, f"item {number}")


def udp_samples(
    port: int, n_dof: int, *, host: str = LOOPBACK, timeout: float = 5.0, ready: socket.socket | None = None
) -> Iterator[Sample]:
    """Samples from datagrams, one JSON object each with the keys of `samples_of`; ends on ``{"end": true}``.

    Ctrl-C while it waits ends it as well, so that what has been learnt is kept, unless nothing has come yet.

    Args:
        port: where to listen; 0 lets the system choose (give `ready` then, to know it).
        n_dof: joints of the robot.
        host: only this machine can send by default.
        timeout: seconds of silence after which the stream ends.
        ready: a bound socket to use instead; it is left open.

    Raises:
        TrackingError: the port cannot be opened, or a datagram is not a sample.
    """
    own = ready is None
    source = socket.socket(socket.AF_INET, socket.SOCK_DGRAM) if ready is None else ready
    try:
        if own:
            try:
                source.bind((host, port))
            except (OSError, OverflowError) as error:
                raise TrackingError(f"udp {host}:{port}: cannot listen: {error}; choose another port") from error
        source.settimeout(timeout)
        number = 0
        while True:
            try:
                data = source.recv(MAX_DATAGRAM)
            except TimeoutError:
                return
            except KeyboardInterrupt:
                if number == 0:
                    raise
                return
            item = _decoded(data, f"datagram {number}")
            if item.get("end") is True:
                return
            yield _sample(item, n_dof, f"datagram {number}")
            number += 1
    finally:
        if own:
            source.close()


def with_kinematics(samples: Iterable[Sample], kinematics: KinematicFilter, n_dof: int) -> Iterator[Sample]:
    """The same samples with velocities and accelerations (rad, s) filled in, half a window late."""
    window = kinematics.start(n_dof)
    for sample in samples:
        completed = window.step(sample)
        if completed is not None:
            yield completed


def _decoded(data: bytes, where: str) -> Mapping[str, object]:
    try:
        item = json.loads(data)
    except (UnicodeDecodeError, json.JSONDecodeError, RecursionError) as error:
        raise TrackingError(f"{where}: not JSON ({error}); send objects with t, q, dq, tau") from error
    if not isinstance(item, dict):
        raise TrackingError(f"{where}: not an object; send objects with t, q, dq, tau")
    return item


def _sample(item: Mapping[str, object], n_dof: int, where: str) -> Sample:
    missing = [key for key in ("t", "q") if key not in item]
    if missing:
        raise TrackingError(f"{where}: no {' and no '.join(missing)}; a sample needs both")
    vectors: dict[str, Float[Array, " n"] | None] = {}
    for name in _VECTORS:
        value = item.get(name)
        size = 6 if name.endswith("wrench") else n_dof
        if value is None:
            vectors[name] = None
            continue
        try:
            vector = np.array(value, dtype=float)
        except (TypeError, ValueError) as error:
            raise TrackingError(f"{where}: {name} is not a list of numbers") from error
        if vector.shape != (size,):
            raise TrackingError(f"{where}: {name} has shape {vector.shape}, not ({size},)")
        vectors[name] = vector
    q = vectors.pop("q")
    if q is None:
        raise TrackingError(f"{where}: no q; a sample needs both t and q")
    try:
        t = float(str(item["t"]))
    except ValueError as error:
        raise TrackingError(f"{where}: t is {item['t']!r}, not a number in s") from error
    return Sample(t, q, **vectors)
