"""What URDF and MJCF have in common: the numbers a model puts into a robot file, and how they are written."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from dynid.arrays import Array, Float
from dynid.chain.inertia import InertialParameters
from dynid.dynamics.model import TorqueModel
from dynid.dynamics.motion import Motion
from dynid.errors import ExportError
from dynid.regression.model import IdentifiedModel
from dynid.writers.exported import ExportOptions, full_links, require_consistent, warning_line, xml_comment
from dynid.writers.joint_terms import PassiveTerms, passive_terms
from dynid.writers.refitting import refitted

__all__ = ["UNLIMITED", "RobotContent", "exact_number", "exact_numbers", "robot_content"]

UNLIMITED = 1e6
"""Written where a file needs a limit and the robot has none: far beyond any joint; rad, m, per s, N·m or N."""


@dataclass(frozen=True, eq=False)
class RobotContent:
    """What a robot file says of an identified model."""

    model: IdentifiedModel
    path: Path
    """The file to be written."""
    links: tuple[InertialParameters, ...]
    passive: PassiveTerms
    problems: tuple[str, ...]
    """What is not physically consistent, written by force."""

    def torque(self, motion: Motion) -> Float[Array, "n_samples n_dof"]:
        """What a reader of the file must compute, N·m or N: links and the terms that the file can say."""
        rigid = TorqueModel(self.model.model.robot)
        return rigid.torque(motion, self.model.parameters[: self.model.model.n_inertial]) + self.passive.torque(motion)

    def fresh(self, build: Callable[[Sequence[str]], str], left_out: Sequence[str]) -> bytes:
        """A new document, as `build` makes it from the comments for its top.

        Raises:
            ExportError: a name of the robot cannot be part of XML.
        """
        story = f"identified by dynid {self.model.provenance.get('dynid', '')}, estimator {self.model.estimator}"
        warning = [warning_line(self.problems)] if self.problems else []
        try:
            return build([*map(xml_comment, (*warning, story, *left_out))]).encode()
        except ValueError as error:
            raise ExportError(
                f"{self.path}: not written, a name of the robot cannot be part of XML: {error}"
            ) from error

    def signed(self, data: bytes) -> bytes:
        """The bytes of an edited file, with a warning at its end where it was written by force."""
        if not self.problems:
            return data
        comment = xml_comment(warning_line(self.problems))
        return data.rstrip() + f"\n<!--{comment}-->\n".encode("ascii", "xmlcharrefreplace")


def robot_content(
    model: IdentifiedModel, path: Path, options: ExportOptions, *, file: str, rotors: bool, soft: bool = False
) -> RobotContent:
    """What a model (SI) puts into a robot file.

    Args:
        model: the model.
        path: the file to be written.
        options: `force` lets parameters pass that are not physically consistent; `log` is for what must be refitted.
        file: what the format is called in sentences, ``URDF``.
        rotors: whether the format has a place for rotor inertia.
        soft: whether dry friction of the format is MuJoCo's, and a fresh file may keep a constant torque.

    Raises:
        ExportError: no full, or no physically consistent parameters.
    """
    problems = require_consistent(model, path, force=options.force)
    links = tuple(InertialParameters(row) for row in full_links(model, path))
    exact = passive_terms(model.model, model.parameters, rotors=rotors, file=file)
    return RobotContent(model, path, links, refitted(model, exact, options, file=file, soft=soft), problems)


def exact_number(value: float) -> str:
    """A number (any unit) that reads back to the last bit."""
    return repr(value + 0.0)  # no minus zero


def exact_numbers(values: Float[Array, " n"]) -> str:
    """Numbers (any unit) with spaces between them."""
    return " ".join(map(exact_number, values.tolist()))
