"""`demo`: the whole job on a simulated Panda, by the library's own calls: simulate, identify, predict, save."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from os import PathLike
from pathlib import Path
from typing import TypedDict

import numpy as np

from dynid.arrays import Array, Float
from dynid.disk import claimed
from dynid.errors import ConfigError
from dynid.excitation.trajectory_files import read_coefficients
from dynid.prose import Document, Grid, Line, PrintsAsDocument
from dynid.regression.least_squares import OLS
from dynid.validation.torque import compare_torque
from dynid.workflow.contract import ErrorJson, FindingJson, LinkJson, error_json, findings_json, links_json
from dynid.workflow.doors import as_seed
from dynid.workflow.fit_options import DEFAULT_FRICTION
from dynid.workflow.identification import Comparison, Identification
from dynid.workflow.identify import identify
from dynid.workflow.logs import Log
from dynid.workflow.progress import Progress, silent
from dynid.workflow.simulate import simulate
from dynid.workflow.simulation import Simulation
from dynid.writers.save import save
from dynid.writers.savers.saved import Saved

__all__ = ["Demonstration", "demo"]

RATE_HZ = 500.0
"""Samples a second of both logs."""
EXCITING = Path(__file__).with_name("demo_motion.toml")
"""An exciting trajectory of the Panda inside its limits, found by `dynid.excite`."""
WITHIN_95 = 1.96
"""Standard deviations on either side that 95 % of a normal distribution lie within."""


class HeldOutJson(ErrorJson):
    """The log that was held out."""

    log: str


class DemonstrationJson(TypedDict):
    """All that `demo` tells."""

    robot: str
    n_dof: int
    n_base: int
    condition_number: float
    findings: list[FindingJson]
    consistent: bool
    train: ErrorJson
    validation: list[HeldOutJson]
    compared: Mapping[str, float]
    coverage: float
    links: list[LinkJson]


@dataclass(frozen=True, eq=False)
class Demonstration(PrintsAsDocument):
    """The result of `demo`: what an identification finds of a robot whose truth is known."""

    train: Simulation
    """The log that was fitted, with its truth."""
    unseen: Simulation
    """The log that was held out, with its truth."""
    identification: Identification
    compared: Mapping[str, float]
    """Relative torque error on the held-out log, %, of the model, the truth and others."""
    saved: Saved
    """The files."""

    @property
    def warnings(self) -> tuple[str, ...]:
        """What the files do not say, a sentence each."""
        return self.saved.warnings

    @property
    def coverage(self) -> float:
        """Share of the base parameters whose 95 % interval holds the true value."""
        estimate = self.identification.estimate
        off = np.abs(estimate.beta - estimate.base.project(self.train.theta))
        return float(np.mean(off <= WITHIN_95 * estimate.std))

    def json(self) -> DemonstrationJson:
        """What scripts read of it (SI)."""
        found = self.identification
        held_out = found.validation[0]
        return {
            "robot": found.model.robot.name,
            "n_dof": found.model.robot.n_dof,
            "n_base": found.model.base.n_base,
            "condition_number": found.estimate.condition_number,
            "findings": findings_json(found.findings),
            "consistent": found.model.consistent,
            "train": error_json(found.train.error),
            "validation": [{"log": Path(held_out.log).name, **error_json(held_out.error)}],
            "compared": self.compared,
            "coverage": self.coverage,
            "links": links_json(found.model),
        }

    def document(self) -> Document:
        """The demonstration from top to bottom, as the terminal shows it."""
        found, samples = self.identification, self.identification.samples
        motion = f"its exciting motion, condition number {found.estimate.condition_number:.3g}"
        log = f"{samples.source}   {samples.n_samples} samples of {motion}; {'; '.join(samples.plan.choices)}"
        review = [Line(f.severity.value, f"{f.code}  {f.joint or ''}  {f.evidence}") for f in found.findings]
        healthy = Line("healthy", "nothing found that would harm an identification")
        error = f"relative torque error {found.train.error.relative_percent:.2f} %"
        consistent = f"links {'physically consistent' if found.model.consistent else 'NOT physically consistent'}"
        rows = tuple((name, f"{value:.2f}") for name, value in self.compared.items())
        return (
            Line("robot", f"{found.model.robot.name}, simulated with friction and sensor noise"),
            Line("log", log),
            *(review or [healthy]),
            Line("fit", f"feasible   {error}, {consistent}"),
            Line("intervals", f"{100 * self.coverage:.0f} % of the 95 % intervals hold the true value"),
            Grid(("parameters", "error on the unseen motion / %"), rows, (1,)),
            Line("report", str(self.saved.files["report"])),
        )

    def __repr__(self) -> str:
        errors = ", ".join(f"{name} {value:.2f} %" for name, value in self.compared.items())
        return f"Demonstration({self.identification.model.robot.name!r}: {errors})"


def demo(out: str | PathLike[str] = "demo", *, seed: int = 1, progress: Progress = silent) -> Demonstration:
    """The whole job on a simulated Panda, ending in a report to open: what the command ``dynid demo`` does (SI).

    A Panda with friction and sensor noise is simulated on an exciting motion; its log is reviewed and identified, and
    the model is tried on another motion, beside the known truth and plain least squares.

    Args:
        out: folder for the logs, the model, the robot file and the report.
        seed: of the motion and the noise.
        progress: hears what is being done.

    Raises:
        OutputError: naming a file that cannot be written, and what the system said.
    """
    if not isinstance(out, str | PathLike):
        raise ConfigError(f"out: expected a folder, got {type(out).__name__}")
    folder, rng = Path(out), np.random.default_rng(as_seed(seed))
    with claimed(folder):
        progress("simulating the robot")
        train = simulate(
            "panda", trajectory=read_coefficients(EXCITING), rate=RATE_HZ, seed=rng, noise_tau="2%", jitter=1e-4
        )
        unseen = simulate("panda", motion="sinusoids", rate=RATE_HZ, seed=rng, noise_tau="2%", jitter=1e-4)
        fitted, held_out = (
            save(log, folder / name).files["log"] for log, name in ((train, "train.csv"), (unseen, "unseen.csv"))
        )
        progress("identifying it from its log")
        # The truth has this friction and no rotors: its parameters can be compared one by one.
        found = identify(
            "panda",
            fitted,
            validate=held_out,
            friction=DEFAULT_FRICTION,
            seed=seed,
            force=True,
            progress=progress,
        )
        progress("predicting a motion it has not seen")
        # The very samples that the model was judged by, so that verdict, card and table show one error.
        samples = Log.of(held_out, found.model.robot, found.model.settings).condition()
        compared = {"feasible": found.validation[0].error.relative_percent} | {
            name: compare_torque(found.model.model, theta, samples).error.relative_percent
            for name, theta in _others(found, train).items()
        }
        truth = Comparison("the truth of the simulation", np.nan, compared["truth"])
        found = replace(found, comparisons=(*found.comparisons, truth))
        progress("writing the report")
        return Demonstration(train, unseen, found, compared, save(found, folder))


def _others(found: Identification, train: Simulation) -> dict[str, Float[Array, " n_params"]]:
    """Other parameters (SI) of the same model, to set beside."""
    model = found.model
    return {
        "truth": train.theta,
        "least squares": model.base.lift(OLS().fit(found.regression).beta),
        "nominal without friction": model.model.nominal(),
    }
