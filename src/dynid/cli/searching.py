"""Friction whose curves are searched for, on behalf of the commands that fit it together with the links."""

from __future__ import annotations

from dynid.chain import Robot
from dynid.cli.console import say, warn
from dynid.dynamics import JointModel, TorqueModel, base_parameters
from dynid.recording import Samples
from dynid.regression import FrictionChoice, Regression, SampleRows, choose_friction, friction_rows, never_reversing

__all__ = ["say_reasons", "searched_friction", "warn_of_one_way_joints"]


def searched_friction(
    friction: str, robot: Robot, drives: tuple[JointModel, ...], regression: Regression, samples: Samples
) -> FrictionChoice:
    """Friction with its curves fitted to the logs of a regression, or to its first stretch where those are streamed."""
    rigid = TorqueModel(robot, drives)
    source = regression.source
    logs = source.samples if isinstance(source, SampleRows) else (samples,)
    return choose_friction(friction_rows(rigid, base_parameters(rigid), logs), friction)


def say_reasons(texts: object) -> None:
    """Why each joint has which friction, a line each."""
    for text in texts if isinstance(texts, list) else []:
        say("friction", str(text))


def warn_of_one_way_joints(regression: Regression) -> None:
    """Name the joints whose dry friction cannot be told from an offset."""
    still = never_reversing(regression.source.samples) if isinstance(regression.source, SampleRows) else ()
    if still and {"Fc", "Fo"} <= {term.name for term in regression.model.terms}:
        warn(f"{', '.join(still)} never reverses: Coulomb friction and offset cannot be told apart there")
