"""``dynid demo``: the whole job on an embedded robot: simulate, check, identify, validate on another motion, report."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from dynid.arrays import Array, Float
from dynid.chain import load_robot
from dynid.cli.console import emit_json, note, say, table, warn
from dynid.cli.doctor import findings_json, show_findings
from dynid.cli.identify import identified_model
from dynid.cli.options import JsonFlag
from dynid.cli.pipeline import error_json, links_json, provenance
from dynid.cli.progress import progress
from dynid.disk import at_once, claimed
from dynid.dynamics import TorqueModel, base_parameters, friction_models
from dynid.excitation import read_coefficients
from dynid.recording import Conditioning, Recording, write_csv
from dynid.regression import OLS, Feasible, SampleRows, compress, save_model
from dynid.review import examine
from dynid.simulation.motions import smooth_motion
from dynid.simulation.sensors import Level, SensorModel
from dynid.simulation.synthetic import plausible_parameters
from dynid.simulation.synthetic import synthesise as run
from dynid.validation import validate
from dynid.writers import Comparison, identification_report, write_urdf

__all__ = ["demo"]

SENSORS = SensorModel(
    q_noise=Level(absolute=1e-5), dq_noise=Level(absolute=1e-3), tau_noise=Level(relative=0.02), jitter=1e-4
)
"""Sensors of a good arm: encoders of 1e-5 rad, velocities of 1e-3 rad/s, torque noise of 2 %."""
RATE_HZ = 500.0
EXCITING = Path(__file__).with_name("demo_motion.toml")
"""An exciting trajectory of the Panda inside its limits, found by ``dynid excite panda``."""


def demo(*, out: Path = Path("demo"), seed: int = 1, json: JsonFlag = False) -> int:
    """The whole job on an embedded robot, ending in a report to open.

    A Panda with friction and sensor noise is simulated on an exciting motion, its log checked and identified, and the
    result tried on another motion, against the known truth and against plain least squares.

    Example: dynid demo --out demo

    Parameters
    ----------
    out
        Folder for the logs, the model, the robot file and the report.
    seed
        Of the motion and the noise.
    """
    robot = load_robot("panda")
    model = TorqueModel(robot, friction_models("viscous+coulomb+offset"))
    with progress("simulating the robot") as step, claimed(out):
        base = base_parameters(model)
        truth = plausible_parameters(model)
        trained, unseen = _simulated(model, truth, out, seed)
        step("looking at its log")
        findings = examine(robot, trained)
        step("identifying it from its log")
        plan = Conditioning().plan(trained)
        samples = plan.apply(trained)
        regression = compress(SampleRows(model, base, (samples,)))
        estimate, plain = Feasible().fit(regression), OLS().fit(regression)
        step("predicting a motion it has not seen")
        other = plan.apply(unseen)
        origin = provenance("demo", [out / "train.csv", out / "unseen.csv"], {"seed": seed})
        result = identified_model(estimate, regression, samples, origin)
        fitted = validate(model, result.parameters, samples)
        held_out = validate(model, result.parameters, other)
        beside = {
            "feasible": held_out.error.relative_percent,
            "truth": validate(model, truth, other).error.relative_percent,
            "least squares": validate(model, base.lift(plain.beta), other).error.relative_percent,
            "nominal without friction": validate(model, model.nominal(), other).error.relative_percent,
        }
        step("writing the report")
        comparisons = [Comparison(name, np.nan, value) for name, value in beside.items() if name != "feasible"]
        report = identification_report(
            result, estimate, samples, fitted, [held_out], comparisons, regression=regression, findings=findings
        )
        files = {name: out / file for name, file in FILES.items()}
        with at_once():
            save_model(result, files["model"])
            exported = write_urdf(result, files["urdf"])
            report.write(files["report"])
    inside = np.abs(estimate.beta - base.project(truth)) <= 1.96 * estimate.std
    if json:
        emit_json(
            {
                "robot": robot.name,
                "n_dof": robot.n_dof,
                "n_base": base.n_base,
                "condition_number": estimate.condition_number,
                "findings": findings_json(findings),
                "consistent": result.consistent,
                "train": error_json(fitted.error),
                "validation": [{"log": "unseen.csv", **error_json(held_out.error)}],
                "compared": beside,
                "coverage": float(np.mean(inside)),
                "links": links_json(result),
                "files": {name: str(path) for name, path in files.items()},
            }
        )
        return 0
    for sentence in exported.left_out:
        warn(f"robot.urdf: {sentence}")
    say("robot", "panda, simulated with friction and sensor noise")
    motion = f"its exciting motion, condition number {estimate.condition_number:.3g}"
    say("log", f"{out / 'train.csv'}   {samples.n_samples} samples of {motion}; {'; '.join(samples.plan.choices)}")
    show_findings(findings)
    _show(fitted.error.relative_percent, beside, float(np.mean(inside)), result.consistent)
    say("report", str(files["report"]))
    _show_next(out)
    return 0


def _simulated(
    model: TorqueModel, truth: Float[Array, " n_params"], out: Path, seed: int
) -> tuple[Recording, Recording]:
    """A log of the exciting motion and one of another, both written."""
    rng = np.random.default_rng(seed)
    exciting = read_coefficients(EXCITING).motion(RATE_HZ)
    trained = run(model, exciting, rng, theta=truth, sensors=SENSORS, source="train.csv").recording
    other = smooth_motion(model.robot, rng, kind="sinusoids", duration=20.0, rate_hz=RATE_HZ)
    unseen = run(model, other, rng, theta=truth, sensors=SENSORS, source="unseen.csv").recording
    write_csv(trained, out / "train.csv")
    write_csv(unseen, out / "unseen.csv")
    return trained, unseen


FILES = {"model": "model.json", "urdf": "robot.urdf", "report": "report.html"}


def _show_next(out: Path) -> None:
    note("")
    note(f"Open {out / FILES['report']} in a browser. Then try:")
    note(f"  dynid doctor panda {out / 'train.csv'}                      what a log shows before any fit")
    note(f"  dynid identify panda {out / 'train.csv'} --validate {out / 'unseen.csv'} --out result")
    note("  dynid info YOUR.urdf                                 joints, limits and what can be identified")
    note("  dynid excite YOUR.urdf --out trajectory.csv          a motion for your own arm")
    note("  dynid identify YOUR.urdf YOUR_LOG.csv --out result   (columns t, q1…, dq1…, tau1…)")


def _show(fit: float, beside: dict[str, float], covered: float, possible: bool) -> None:
    say("fit", f"feasible   relative torque error {fit:.2f} %, parameters physically possible: {possible}")
    say("intervals", f"{100 * covered:.0f} % of the 95 % intervals hold the true value")
    note("")
    rows = [(name, f"{value:.2f}") for name, value in beside.items()]
    table(("parameters", "error on the unseen motion / %"), rows, numeric=(1,))
    note("")
