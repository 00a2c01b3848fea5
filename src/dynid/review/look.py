"""A look at a log: what the checks see, what they found so far, and how later ones read the log."""

from __future__ import annotations

import enum
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace

from dynid.chain.robot import Robot
from dynid.dynamics.base_parameters import BaseParameters
from dynid.errors import RecordingError
from dynid.recording.raw import RawLog
from dynid.recording.recording import Recording
from dynid.review.equations.hypothesis import HypothesisFit
from dynid.review.equations.rows import Arm
from dynid.review.equations.search import Searched
from dynid.review.findings import Finding, Severity
from dynid.review.signal_view import SignalView

__all__ = ["FEWEST_SAMPLES", "Check", "Equations", "Look", "Needs"]

FEWEST_SAMPLES = 8
"""Samples below which not even a rate can be told."""


class Needs(enum.Enum):
    """What a check works on; where a log does not have it, the check is left out."""

    RAW = "the rows of the file, whatever they hold"
    SIGNALS = "a few samples at increasing times: `Look.signals`"
    EQUATIONS = "torque, and a motion that was read rightly: `Look.torque`"


@dataclass(frozen=True, eq=False)
class Equations:
    """The arm's equations, fitted to a log."""

    arm: Arm
    searched: Searched
    """The log as logged, and as it has to be read."""
    fitted: HypothesisFit
    """The log as later checks read it: with the columns and the delay that earlier ones found."""


@dataclass(frozen=True, eq=False, kw_only=True)
class Look:
    """A log under examination. Later checks read it as repaired by earlier ones: one fault shows once."""

    robot: Robot
    raw: RawLog
    """The log as the file has it."""
    log: Recording | None
    """The rows that a recording can hold, without velocities that are wrong; None where there are none."""
    view: SignalView | None
    """The same, units and stamps as repaired, with rate, noise and slopes; None for fewer than eight samples."""
    equations: Equations | None = None
    """None where the torque cannot be compared with the motion."""
    against: tuple[Recording, ...] = ()
    """Other logs, whose samples this one should not hold."""
    beside: tuple[Recording, ...] = ()
    """Other logs of the same robot, with the same signs, units and mounting."""
    friction: str = "viscous+coulomb+offset"
    """Friction of the model that will be fitted."""
    base: BaseParameters | None = None
    """Base parameters of that model, where they are known already."""
    findings: tuple[Finding, ...] = ()
    """What was found so far."""

    @classmethod
    def at(
        cls,
        robot: Robot,
        raw: RawLog,
        *,
        against: Iterable[Recording] = (),
        beside: Iterable[Recording] = (),
        friction: str = "viscous+coulomb+offset",
        base: BaseParameters | None = None,
    ) -> Look:
        """A first look at a log (SI)."""
        try:
            log = raw.good_rows()
        except RecordingError:
            log = None
        enough = log is not None and log.n_samples >= FEWEST_SAMPLES
        view = SignalView(robot, log, raw) if log is not None and enough else None
        logs, others = tuple(against), tuple(beside)
        return cls(robot=robot, raw=raw, log=log, view=view, against=logs, beside=others, friction=friction, base=base)

    @property
    def signals(self) -> SignalView:
        """`view`, for checks that need signals."""
        assert self.view is not None
        return self.view

    @property
    def torque(self) -> Equations:
        """`equations`, for checks that need them."""
        assert self.equations is not None
        return self.equations

    def has(self, needs: Needs) -> bool:
        """Whether the log has what a check needs."""
        if needs is Needs.SIGNALS:
            return self.view is not None
        return self.equations is not None if needs is Needs.EQUATIONS else True

    def found(self, findings: Iterable[Finding]) -> Look:
        """The look with further findings; of one code at one signal of a joint, the first is kept."""
        kept = {_mark(finding): finding for finding in self.findings}
        for finding in findings:
            kept.setdefault(_mark(finding), replace(finding, log=self.raw.source))
        return replace(self, findings=tuple(kept.values()))

    def codes(self, *severities: Severity) -> frozenset[str]:
        """Codes of the findings so far, of any severity where none is given."""
        return frozenset(f.code for f in self.findings if not severities or f.severity in severities)


def _mark(finding: Finding) -> tuple[object, ...]:
    about = getattr(finding.measured, "signal", None) if finding.joint else finding.measured
    return finding.code, finding.joint, about


@dataclass(frozen=True, kw_only=True)
class Check:
    """One check of the doctor."""

    name: str
    """What it looks at, as in ``velocity sign``."""
    codes: tuple[str, ...]
    """Codes that its findings may have."""
    run: Callable[[Look], Look]
    """The look with what the check found."""
    needs: Needs = Needs.SIGNALS
