"""One message of a stream as a sample: a JSON object, or a fixed binary layout for loops in C and C++.

A binary message is little-endian, and every number in it lies on a multiple of its size, so that a packed struct can
be sent as it stands:

======  =======  ==========================================================================================
offset  type     what
======  =======  ==========================================================================================
0       char[4]  ``DYN1``
4       uint16   number of joints n
6       uint16   what follows: 1 dq, 2 tau, 4 ddq, 8 current, 16 base wrench, 32 tool wrench, added up
8       uint64   number of the message, which goes up by one; all bits set where messages are not numbered
16      double   time, s
24      double   q[n], then in the order of the bits dq[n], tau[n], ddq[n], current[n] (A), wrenches [6], SI
======  =======  ==========================================================================================
"""

from __future__ import annotations

import json
import struct
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from dynid.arrays import Array, Float, Int
from dynid.errors import TrackingError
from dynid.recording.joint_match import matched_joints
from dynid.tracking.samples import Sample

__all__ = ["BINARY_MAGIC", "StreamMessage", "StreamMessages", "pack_message", "samples_of"]

BINARY_MAGIC = b"DYN1"
"""What a binary message begins with."""
_HEADER = struct.Struct("<4sHHQd")
_UNNUMBERED = 2**64 - 1
_FIELDS = ("dq", "tau", "ddq", "current", "base_wrench", "tool_wrench")
"""What may follow the positions, by bit."""
_VECTORS = ("q", *_FIELDS)
MAX_NAMES = 256
"""Joints that a message may name."""
LARGEST = 1e7
"""No joint coordinate, rate, torque or current of an arm is larger (SI): a number beyond it is garbage."""


class StreamMessage(NamedTuple):
    """What one message says."""

    sample: Sample
    number: int | None = None
    """Of the message, as its sender counts; None where it does not."""
    end: bool = False
    """Whether the sender says that nothing follows."""
    fresh: bool = False
    """Whether it is the first of a file that was replaced: its clock and its numbers begin anew."""


def samples_of(items: Iterable[Mapping[str, object]], n_dof: int) -> Iterator[Sample]:
    """Samples of any iterator of mappings with keys t, q and, where measured, dq, ddq, tau, base_wrench, tool_wrench.

    Lists may hold None or nan where a value is missing (SI); the filter skips and counts such samples.

    Raises:
        TrackingError: an item without t or q, or with the wrong number of joints.
    """
    messages = StreamMessages(n_dof)
    for number, item in enumerate(items):
        yield messages.of_object(item, f"item {number}").sample


def pack_message(sample: Sample, *, number: int | None = None, current: Float[Array, " n_dof"] | None = None) -> bytes:
    """A sample (SI; motor current in A where there is one) in the binary layout, numbered by its sender or not."""
    parts, bits = [np.asarray(sample.q)], 0
    values = {**sample._asdict(), "current": current}
    for bit, name in enumerate(_FIELDS):
        if values[name] is not None:
            bits |= 1 << bit
            parts.append(values[name])
    head = _HEADER.pack(
        BINARY_MAGIC, len(sample.q), bits, _UNNUMBERED if number is None else number % _UNNUMBERED, sample.t
    )
    return head + np.concatenate(parts).astype("<f8").tobytes()


@dataclass
class StreamMessages:
    """Decodes messages for one robot; anything but a sample of this robot is refused with the reason."""

    n_dof: int
    joint_names: tuple[str, ...] = ()
    """The robot's, in its order: for messages that name their joints."""
    gains: Float[Array, " n_dof"] | None = None
    """Torque per motor current, N·m/A, for messages with currents; None where the model has none."""
    transmission: Float[Array, "n_dof n_dof"] | None = None
    """Of coupled joints, as in `Robot`, dimensionless."""
    _orders: dict[tuple[str, ...], Int[Array, " n_dof"]] = field(default_factory=dict)

    def of_bytes(self, data: bytes, where: str) -> StreamMessage:
        """The sample (SI) of a datagram or a line, binary or JSON.

        Raises:
            TrackingError: for anything else, saying what is wrong with it.
        """
        if data.startswith(BINARY_MAGIC):
            return self._of_binary(data, where)
        try:
            item = json.loads(data)
        except (ValueError, RecursionError) as error:
            # Neither the text of a source nor what the parser quotes of it belongs into a message.
            said = type(error).__name__
            raise TrackingError(f"{where}: not JSON ({said}); send objects with t, q, dq, tau") from None
        if not isinstance(item, dict):
            raise TrackingError(f"{where}: not an object; send objects with t, q, dq, tau")
        if item.get("end") is True:
            return StreamMessage(Sample(0.0, np.zeros(self.n_dof)), end=True)
        return self.of_object(item, where)

    def of_object(self, item: Mapping[str, object], where: str) -> StreamMessage:
        """The sample (SI) of an object with keys t, q and, where measured, dq, ddq, tau, current, wrenches; and n.

        Raises:
            TrackingError: for a key that is missing or has another size, saying which.
        """
        missing = [key for key in ("t", "q") if item.get(key) is None]
        if missing:
            raise TrackingError(f"{where}: no {' and no '.join(missing)}; a sample needs both")
        order = self._order(item.get("names"), where)
        vectors: dict[str, Float[Array, " n"] | None] = {}
        for name in _VECTORS:
            value = item.get(name)
            if value is None:
                vectors[name] = None
                continue
            try:
                vector = np.array(value, dtype=float)
            except (TypeError, ValueError, OverflowError) as error:
                raise TrackingError(f"{where}: {name} is not a list of numbers") from error
            if order is not None and not name.endswith("wrench"):
                vector = self._ordered(vector, order, name, where)
            self._check(vector, name, where)
            vectors[name] = vector
        try:
            t = float(str(item["t"]))
        except ValueError:
            raise TrackingError(f"{where}: t is {str(item['t'])[:40]!r}, not a number in s") from None
        number = item.get("n")
        counted = number if isinstance(number, int) and not isinstance(number, bool) and abs(number) < 2**63 else None
        return self._message(t, vectors, counted, where)

    def _of_binary(self, data: bytes, where: str) -> StreamMessage:
        if len(data) < _HEADER.size:
            raise TrackingError(f"{where}: {len(data)} bytes, shorter than the {_HEADER.size} of a binary header")
        _, n_joints, bits, number, t = _HEADER.unpack_from(data)
        if n_joints != self.n_dof:
            raise TrackingError(f"{where}: {n_joints} joints, but the robot has {self.n_dof}")
        if bits >> len(_FIELDS):
            raise TrackingError(f"{where}: the fields {bits:#x} hold bits that mean nothing")
        names = ["q", *(name for bit, name in enumerate(_FIELDS) if bits >> bit & 1)]
        sizes = [6 if name.endswith("wrench") else n_joints for name in names]
        if len(data) != _HEADER.size + 8 * sum(sizes):
            raise TrackingError(f"{where}: {len(data)} bytes, not the {_HEADER.size + 8 * sum(sizes)} it announces")
        values = np.frombuffer(data, "<f8", offset=_HEADER.size).astype(float)
        vectors: dict[str, Float[Array, " n"] | None] = dict.fromkeys(_VECTORS)
        place = 0
        for name, size in zip(names, sizes, strict=True):
            vectors[name] = values[place : place + size]
            self._check(values[place : place + size], name, where)
            place += size
        return self._message(t, vectors, None if number == _UNNUMBERED else number, where)

    def _message(
        self, t: float, vectors: Mapping[str, Float[Array, " n"] | None], number: int | None, where: str
    ) -> StreamMessage:
        if not abs(t) < 1e12:
            raise TrackingError(f"{where}: t is {t}, not a time in s")
        q, tau = vectors["q"], vectors["tau"]
        assert q is not None
        if tau is None and vectors["current"] is not None:
            tau = self.torque(vectors["current"], where)
        sample = Sample(t, q, vectors["dq"], vectors["ddq"], tau, vectors["base_wrench"], vectors["tool_wrench"])
        return StreamMessage(sample, number)

    def torque(self, current: Float[Array, " n_dof"], where: str) -> Float[Array, " n_dof"]:
        """Joint torque (N·m or N) of motor currents (A).

        Raises:
            TrackingError: the model has no drive gains.
        """
        if self.gains is None:
            raise TrackingError(f"{where}: motor currents and no torques; give the drive gains (`gains`, N·m/A)")
        tau = current * self.gains
        return tau if self.transmission is None else tau @ self.transmission

    def _check(self, vector: Float[Array, "..."], name: str, where: str) -> None:
        size = 6 if name.endswith("wrench") else self.n_dof
        if vector.shape != (size,):
            raise TrackingError(f"{where}: {name} has shape {vector.shape}, not ({size},)")
        if name != "q":
            vector[np.isinf(vector)] = np.nan  # what a driver writes where it has no value
        if np.any(np.abs(vector) > LARGEST):
            raise TrackingError(f"{where}: {name} holds a number beyond {LARGEST:g}, which no arm has")

    def _order(self, names: object, where: str) -> Int[Array, " n_dof"] | None:
        """Where each joint of the robot stands in a message that names its joints; None where it names none."""
        if names is None or not self.joint_names:
            return None
        if not isinstance(names, list) or len(names) > MAX_NAMES or not all(isinstance(name, str) for name in names):
            raise TrackingError(f"{where}: names is not a list of joint names")
        return self.order(tuple(names), where)

    def order(self, names: Sequence[str], where: str) -> Int[Array, " n_dof"]:
        """Where each joint of the robot stands among `names`, spelled as the robot's or recognisably like them.

        Raises:
            TrackingError: a joint is missing among them.
        """
        told = tuple(names)
        if told not in self._orders:
            called = matched_joints(where, self.joint_names, told)
            wanted = [called.get(joint, joint) for joint in self.joint_names]
            absent = [joint for joint in wanted if joint not in told]
            if absent:
                raise TrackingError(f"{where}: no joint {', '.join(absent)} among the names it gives")
            if len(self._orders) > 16:  # a sender that keeps changing its names must not fill the memory
                self._orders.clear()
            self._orders[told] = np.array([told.index(joint) for joint in wanted])
        return self._orders[told]

    def _ordered(
        self, vector: Float[Array, "..."], order: Int[Array, " n_dof"], name: str, where: str
    ) -> Float[Array, " n_dof"]:
        if vector.ndim != 1 or len(vector) <= int(np.max(order, initial=0)):
            raise TrackingError(f"{where}: {name} has shape {vector.shape}, fewer than its joint names")
        return vector[order]
