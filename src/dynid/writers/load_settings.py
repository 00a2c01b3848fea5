"""A payload in the words of a robot controller: libfranka's setLoad, Franka's Desk, URScript."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from dynid.arrays import Array, Float, Matrix3, Transform, Vector3, freeze_arrays
from dynid.chain.consistency import consistency
from dynid.chain.inertia import InertialParameters
from dynid.disk import write_whole
from dynid.errors import ExportError, ModelFileError
from dynid.writers.exported import DEFAULTS, WARNING, Exported, ExportOptions, relative_error, require_agreement

__all__ = ["FLANGE", "Load", "read_load", "write_franka", "write_franka_desk", "write_urscript"]

FLANGE = "flange"
"""Name of the frame that controllers mean."""
LARGEST_UR_INERTIA = 133.0
"""kg·m², above which a UR controller refuses an entry of the tensor."""
MAX_LOAD_BYTES = 2**20
"""Largest payload file that is read, bytes; real ones stay below 10 kB."""


@dataclass(frozen=True, eq=False)
class Load:
    """A load as the payload workflow found it."""

    mass: float
    """kg"""
    com: Vector3
    """Centre of mass in `frame`, m."""
    inertia_com: Matrix3
    """About the centre of mass in axes of `frame`, kg·m²."""
    frame: str
    """``flange``, or the link whose frame it is."""
    source: str = "memory"
    unseen: tuple[str, ...] = ()
    """Numbers that the log did not show, so that they are a guess."""

    def __post_init__(self) -> None:
        freeze_arrays(self)

    def __repr__(self) -> str:
        com = ", ".join(f"{value:.4g}" for value in self.com)
        return f"Load({self.mass:.4g} kg, centre of mass [{com}] m in the frame of {self.frame})"

    @property
    def inertial(self) -> InertialParameters:
        """The ten numbers (SI) about the origin of the frame."""
        return InertialParameters.from_com(self.mass, self.com, self.inertia_com)

    def at_flange(self, T_link_flange: Transform) -> Load:
        """The same load in the frame of a flange that sits at `T_link_flange` (m) in the link's frame."""
        R, p = T_link_flange[:3, :3], T_link_flange[:3, 3]
        return Load(self.mass, R.T @ (self.com - p), R.T @ self.inertia_com @ R, FLANGE, self.source, self.unseen)


def read_load(path: Path) -> Load:
    """The load (SI) in a file that the payload workflow wrote, or in its JSON output.

    Raises:
        ModelFileError: naming the file and what is wrong with it.
    """
    try:
        if path.stat().st_size > MAX_LOAD_BYTES:
            raise ModelFileError(f"{path}: larger than {MAX_LOAD_BYTES // 2**20} MB, which no payload is")
        content = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError as error:
        raise ModelFileError(f"{path}: no such file; save the result of payload first") from error
    except (OSError, UnicodeDecodeError, json.JSONDecodeError, RecursionError) as error:
        raise ModelFileError(f"{path}: cannot be read as JSON: {error}") from error
    payload = content.get("payload") if isinstance(content, dict) else None
    if not isinstance(payload, dict):
        raise ModelFileError(f"{path}: holds no payload; save the result of payload first")
    try:
        mass = _numbers(payload["mass"], ())
        com, tensor = _numbers(payload["com"], (3,)), _numbers(payload["inertia_com"], (3, 3))
        frame = payload.get("frame", "unknown")
        named = str(frame["name"]) if isinstance(frame, dict) else str(frame)
    except (KeyError, TypeError, ValueError) as error:
        raise ModelFileError(f"{path}: damaged payload: {error!r}; identify it again") from error
    if not np.allclose(tensor, tensor.T, rtol=1e-9, atol=0.0):
        raise ModelFileError(f"{path}: damaged payload: the inertia is not symmetric")
    return Load(float(mass), com, 0.5 * (tensor + tensor.T), named, str(path), _unseen(payload.get("std")))


def _unseen(std: object) -> tuple[str, ...]:
    """Names of the numbers whose standard deviation is null, which stands for infinite."""
    if not isinstance(std, dict):
        return ()
    names = ["mass"] if std.get("mass", 0.0) is None else []
    com, tensor = std.get("com"), std.get("inertia_com")
    if isinstance(com, list):
        names += [f"centre of mass {axis}" for axis, value in zip("xyz", com, strict=False) if value is None]
    if isinstance(tensor, list) and all(isinstance(row, list) for row in tensor):
        names += [
            f"I{a}{b}"
            for i, (a, row) in enumerate(zip("xyz", tensor, strict=False))
            for b, value in zip("xyz"[i:], row[i:], strict=False)
            if value is None
        ]
    return tuple(names)


def _numbers(value: object, shape: tuple[int, ...]) -> Float[Array, "..."]:
    numbers = np.array(value, dtype=float)
    if numbers.shape != shape or not np.all(np.isfinite(numbers)):
        raise ValueError(f"expected finite numbers of shape {shape}, found {str(value)[:60]}")
    return numbers


def write_franka(load: Load, path: Path, options: ExportOptions = DEFAULTS) -> Exported:
    """Write a load (SI, flange frame) as the arguments of libfranka's setLoad; errors as of `write_urscript`."""
    return _written(load, path, options, "franka", _franka, _read_franka)


def write_franka_desk(load: Load, path: Path, options: ExportOptions = DEFAULTS) -> Exported:
    """Write a load (SI, flange frame) as an end effector for Franka's Desk; errors as of `write_urscript`."""
    done = _written(load, path, options, "franka-desk", _desk, _read_desk)
    notice = "the transformation from flange to end effector is the identity: put yours in its place"
    return replace(done, notices=(*done.notices, notice))


def write_urscript(load: Load, path: Path, options: ExportOptions = DEFAULTS) -> Exported:
    """Write a load (SI, flange frame) as a line of URScript, after it has been read back.

    Raises:
        ExportError: another frame, a load that is not physically consistent, or numbers that the controller refuses.
    """
    return _written(load, path, options, "ur", _urscript, _read_urscript)


def _written(
    load: Load,
    path: Path,
    options: ExportOptions,
    controller: str,
    write: Callable[[Load, tuple[str, ...]], str],
    read: Callable[[str], InertialParameters],
) -> Exported:
    if load.frame != FLANGE:
        raise ExportError(
            f"{load.source}: the load is given in the frame of {load.frame}, but controllers mean the flange; say "
            "where the flange is in it: `flange` x y z roll pitch yaw (m, rad)"
        )
    problems: tuple[str, ...] = ()
    check = consistency(load.inertial)
    if load.mass <= 0.0 or not check.holds:
        problems = (f"load not physically consistent: {', '.join(check.failing) or 'mass'}",)
        if not options.force:
            raise ExportError(f"{path}: not written, {problems[0]}; move more joints with the load, or use `force`")
    if controller == "ur":
        _check_ur(load, path)
    text = write(load, problems)
    error = require_agreement(path, [("load", relative_error(load.inertial.pi, read(text).pi))])
    guesses = f"the log did not show {', '.join(load.unseen)} of this load: these are guesses"
    notices = (*problems, guesses) if load.unseen else problems
    write_whole(path, text)
    return Exported(path, controller, error, 0, "a parser of its own", (), notices, not problems, "load")


def _check_ur(load: Load, path: Path) -> None:
    if np.max(np.abs(load.inertia_com)) > LARGEST_UR_INERTIA or np.min(np.diag(load.inertia_com)) < 0.0:
        raise ExportError(
            f"{path}: not written, a UR controller refuses this inertia: entries up to {LARGEST_UR_INERTIA:g} kg·m², "
            "moments not negative"
        )


def _by_columns(tensor: Matrix3) -> list[float]:
    return [float(value) for value in tensor.ravel(order="F")]


def _franka(load: Load, notices: tuple[str, ...]) -> str:
    position, columns = [float(x) for x in load.com], _by_columns(load.inertia_com)
    arguments = {"load_mass": load.mass, "F_x_Cload": position, "load_inertia": columns}
    com, tensor = (", ".join(map(_plain, values)) for values in (position, columns))
    content = {
        "setLoad": arguments,
        "call": f"robot.setLoad({_plain(load.mass)}, {{{{{com}}}}}, {{{{{tensor}}}}});",
        "units": {"load_mass": "kg", "F_x_Cload": "m, flange frame", "load_inertia": "kg·m², column-major"},
        "frame": "inertia about the centre of mass of the load, axes of the flange frame",
        **({WARNING: list(notices)} if notices else {}),
    }
    return json.dumps(content, indent=1, ensure_ascii=False, allow_nan=False) + "\n"


def _desk(load: Load, notices: tuple[str, ...]) -> str:
    content = {
        "mass": load.mass,
        "centerOfMass": load.com.tolist(),
        "inertia": _by_columns(load.inertia_com),
        "transformation": np.eye(4).ravel(order="F").tolist(),
        **({WARNING: list(notices)} if notices else {}),
    }
    return json.dumps(content, ensure_ascii=False, allow_nan=False) + "\n"


def _urscript(load: Load, notices: tuple[str, ...]) -> str:
    tensor = [load.inertia_com["xyz".index(a), "xyz".index(b)] for a, b in ("xx", "yy", "zz", "xy", "xz", "yz")]
    com, inertia = (", ".join(_plain(float(x)) for x in values) for values in (load.com, tensor))
    warning = "".join(f"# {WARNING}: {notice}\n" for notice in notices)
    return (
        f"{warning}# mass in kg; centre of gravity in m from the tool flange, in its axes;\n"
        "# Ixx, Iyy, Izz, Ixy, Ixz, Iyz in kg*m^2 about the centre of gravity, axes of the tool flange\n"
        f"set_target_payload({_plain(load.mass)}, [{com}], [{inertia}])\n"
    )


def _plain(value: float) -> str:
    """A number without an exponent, which not every controller reads."""
    return np.format_float_positional(value + 0.0, trim="0")


def _read_franka(text: str) -> InertialParameters:
    content = json.loads(text)
    call = [float(word) for word in re.findall(r"-?\d+\.\d*", content["call"])]
    said = content["setLoad"]
    if call != [said["load_mass"], *said["F_x_Cload"], *said["load_inertia"]]:
        raise ExportError("the call of setLoad differs from its arguments")
    return _from_columns(said["load_mass"], said["F_x_Cload"], said["load_inertia"])


def _read_desk(text: str) -> InertialParameters:
    content = json.loads(text)
    return _from_columns(content["mass"], content["centerOfMass"], content["inertia"])


def _from_columns(mass: float, com: list[float], columns: list[float]) -> InertialParameters:
    return InertialParameters.from_com(mass, com, np.array([columns[0::3], columns[1::3], columns[2::3]]))


def _read_urscript(text: str) -> InertialParameters:
    number = r"(-?[\d.]+)"
    lists = [rf"\[{', '.join([number] * count)}\]" for count in (3, 6)]
    match = re.search(rf"^set_target_payload\({number}, {lists[0]}, {lists[1]}\)$", text, re.MULTILINE)
    if match is None:
        raise ExportError("the URScript line cannot be read back")
    mass, x, y, z, xx, yy, zz, xy, xz, yz = map(float, match.groups())
    if not math.isfinite(mass):
        raise ExportError("the URScript line cannot be read back")
    return InertialParameters.from_com(mass, [x, y, z], [[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
