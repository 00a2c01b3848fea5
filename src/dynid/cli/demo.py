"""``dynid demo``: the whole job on an embedded robot: simulate, identify, validate on another motion, report."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from dynid.chain import load_robot
from dynid.cli.console import emit_json, note, say, table
from dynid.cli.identify import identified_model
from dynid.cli.options import JsonFlag
from dynid.cli.pipeline import error_json, links_json, provenance
from dynid.cli.progress import progress
from dynid.disk import claimed
from dynid.dynamics import TorqueModel, base_parameters, friction_models
from dynid.recording import Conditioning, Samples, write_csv
from dynid.recording.commanded import MotionKind, smooth_motion
from dynid.recording.sensors import Level, SensorModel
from dynid.recording.synthetic import Synthetic, plausible_parameters
from dynid.recording.synthetic import simulate as run
from dynid.regression import OLS, Feasible, SampleRows, compress
from dynid.validation import validate
from dynid.writers import Comparison, identification_report, save_model, write_urdf

__all__ = ["demo"]

SENSORS = SensorModel(
    q_noise=Level(absolute=1e-5), dq_noise=Level(absolute=1e-3), tau_noise=Level(relative=0.02), jitter=1e-4
)
"""Sensors of a good arm: encoders of 1e-5 rad, velocities of 1e-3 rad/s, torque noise of 2 %."""


def demo(*, out: Path = Path("demo"), seed: int = 1, json: JsonFlag = False) -> int:
    """The whole job on an embedded robot, ending in a report to open.

    A Panda with friction is simulated on an exciting motion, its log identified, and the result tried on another
    motion, against the known truth and against plain least squares.

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
        trained = _simulated(model, truth, "fourier", seed)
        unseen = _simulated(model, truth, "sinusoids", seed + 1)
        write_csv(trained.recording, out / "train.csv")
        write_csv(unseen.recording, out / "unseen.csv")
        step("identifying it from its log")
        plan = Conditioning().plan(trained.recording)
        samples = plan.apply(trained.recording)
        regression = compress(SampleRows(model, base, (samples,)))
        estimate, plain = Feasible().fit(regression), OLS().fit(regression)
        step("predicting a motion it has not seen")
        other = plan.apply(unseen.recording)
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
            result, estimate, samples, fitted, [held_out], comparisons, regression=regression
        )
        files = {name: out / file for name, file in FILES.items()}
        save_model(result, files["model"])
        write_urdf(result, files["urdf"])
        report.write(files["report"])
    inside = np.abs(estimate.beta - base.project(truth)) <= 1.96 * estimate.std
    if json:
        emit_json(
            {
                "robot": robot.name,
                "n_dof": robot.n_dof,
                "n_base": base.n_base,
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
    _show(samples, fitted.error.relative_percent, beside, float(np.mean(inside)), result.consistent)
    say("report", str(files["report"]))
    note("")
    note(f"Open {files['report']} in a browser. Then try your own arm:")
    note("  dynid identify YOUR.urdf YOUR_LOG.csv --out result     (columns t, q1…, dq1…, tau1…)")
    return 0


FILES = {"model": "model.json", "urdf": "robot.urdf", "report": "report.html"}


def _simulated(model: TorqueModel, truth: np.ndarray, kind: MotionKind, seed: int) -> Synthetic:
    rng = np.random.default_rng(seed)
    motion = smooth_motion(model.robot, rng, kind=kind, duration=20.0, rate_hz=500.0)
    name = "train.csv" if kind == "fourier" else "unseen.csv"
    return run(model, motion, rng, theta=truth, sensors=SENSORS, source=name)


def _show(samples: Samples, fit: float, beside: dict[str, float], covered: float, possible: bool) -> None:
    say("robot", "panda, simulated with friction and sensor noise")
    say("log", f"train.csv   {samples.n_samples} samples; {'; '.join(samples.plan.choices)}")
    say("fit", f"feasible   relative torque error {fit:.2f} %, parameters physically possible: {possible}")
    say("intervals", f"{100 * covered:.0f} % of the 95 % intervals hold the true value")
    note("")
    rows = [(name, f"{value:.2f}") for name, value in beside.items()]
    table(("parameters", "error on the unseen motion / %"), rows, numeric=(1,))
    note("")
