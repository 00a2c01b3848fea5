"""Calibrate by hanging a weight: an empty run, a run with a known mass, and drive gains with their uncertainty."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from dynid.dynamics.drives import Drives
from dynid.errors import TrackingError
from dynid.recording.recording import Recording
from dynid.regression.model import IdentifiedModel
from dynid.workflow.live_view import LiveSession
from dynid.workflow.payload import payload
from dynid.workflow.payload_results import GainsIdentification
from dynid.workflow.torque_scales import with_stated_scales
from dynid.writers.live.shown import ShownRun

__all__ = ["WeightCalibration", "calibrated_model"]

SHORTEST = 5.0
"""Time in s that each of the two runs should last at least."""
STANDING = 0.02
"""Speed over the fastest of a run below which the arm stands, dimensionless."""


def calibrated_model(known: IdentifiedModel, found: GainsIdentification) -> IdentifiedModel:
    """A model that reads currents with the gains found (N·m/A), and knows their covariance.

    Its links are those of the gains before: identify again with these for links in their scale.
    """
    settings = replace(
        known.settings,
        gains=found.gains,
        gain_covariance=tuple(tuple(row) for row in found.found.relative_covariance.tolist()),
        gain_source=f"a weight of {found.known_mass:g} kg",
    )
    results = {**known.results, "gains": found.json()["gains"]}
    return with_stated_scales(replace(known, settings=settings, results=results), settings)


class WeightCalibration:
    """Three steps: empty, loaded, done; `status` says what to do next."""

    def __init__(self, run: ShownRun) -> None:
        self.run = run
        self.status = "Press Empty, and move the arm without a load for some ten seconds."
        self._empty: Recording | None = None
        self._began = 0.0
        self._step = "start"

    def empty(self) -> None:
        """The arm moves without a load from now on."""
        self._step, self._began, self._empty = "empty", self.run.view.t, None
        self.status = "Recording the empty arm. Let it stand, hang the weight on the flange, and press Loaded."

    def loaded(self) -> None:
        """The weight hangs from now on.

        Raises:
            TrackingError: the empty run is missing or too short.
        """
        if self._step != "empty":
            raise TrackingError("press Empty first, and move the arm without a load")
        self._empty = self._recorded(self.run.session(), "without a load")
        self._step, self._began = "loaded", self.run.view.t
        self.status = "Recording the arm with the weight: move it as before, then press Done."

    def done(self, known_mass: float) -> IdentifiedModel:
        """The model with the gains that the two runs give for a weight of `known_mass` kg.

        Raises:
            TrackingError: a run is missing or too short, or the source does not send motor currents.
            RegressionError: a gain does not show.
        """
        if self._step != "loaded" or self._empty is None:
            raise TrackingError("press Empty and Loaded first")
        session = self.run.session()
        loaded, known = self._recorded(session, "with the weight"), session.model
        if known.settings.gains is None:
            raise TrackingError("the model has no drive gains: a source of torques needs no calibration of currents")
        drives = Drives(np.array(known.settings.gains), transmission=known.robot.transmission)
        logs = [_currents(recording, drives) for recording in (loaded, self._empty)]
        found = payload(known, logs[0], unloaded=logs[1], known_mass=known_mass)
        told = ", ".join(
            f"{name} {gain:.3f} ± {std:.3f}"
            for name, gain, std in zip(found.found.joint_names, found.found.gains, found.found.std, strict=True)
        )
        self.status = f"Gains in N·m/A: {told}. Save writes them into the model; identify again with them."
        self._step = "start"
        return calibrated_model(known, found)

    def _recorded(self, session: LiveSession, what: str) -> Recording:
        recording = moving_part(session.log.part(self._began))
        if recording.duration < SHORTEST:
            raise TrackingError(
                f"{recording.duration:.1f} s of motion {what} are too few; move the arm for {SHORTEST:g} s or more"
            )
        return recording


def moving_part(recording: Recording) -> Recording:
    """From the first motion of the arm to its last: while somebody hangs a weight on it or takes it off, it stands."""
    q = recording.q
    speed = np.max(np.abs(np.gradient(q, recording.t, axis=0) if recording.dq is None else recording.dq), axis=1)
    moves = np.flatnonzero(speed > STANDING * float(np.nanmax(speed, initial=0.0)))
    return recording if len(moves) < 2 else recording.part(recording.t[moves[0]], recording.t[moves[-1]])


def _currents(recording: Recording, drives: Drives) -> Recording:
    """A recording with the motor currents that its torques were made of."""
    if recording.tau is None:
        raise TrackingError("the source sends neither torques nor currents")
    return replace(recording, current=drives.current(recording.tau), tau=None)
