"""Dry friction as MuJoCo applies it: a constraint of limited force, softened."""

from __future__ import annotations

from dataclasses import dataclass

from dynid.dynamics.formula import DDQ, DQ, positive, shape_number
from dynid.dynamics.joint_model import JointModel, ShapeNumbers, ShapeParameter, Term

__all__ = ["MUJOCO_RATE", "MujocoFriction"]

MUJOCO_RATE = 2.0 / (0.95 * 0.02)
"""b in 1/s of MuJoCo's default solreffriction (time constant 0.02 s, damping ratio 1) with dmax = 0.95."""

_PUSH = (DDQ / MUJOCO_RATE + DQ) / shape_number(0)


@dataclass(frozen=True)
class MujocoFriction(JointModel):
    r"""MuJoCo's frictionloss, :math:`F_m\,\mathrm{clip}\bigl((\ddot q / b + \dot q)/v,\,-1,\,1\bigr)` [Todorov2014]_.

    The constraint asks for the acceleration :math:`-b\,\dot q`, b = 105.3/s by default. With its regulariser
    :math:`R = (1-d)/d\,\hat A` of the joint it slips beyond the velocity :math:`v = R\,F_m / b`.
    """

    shape: ShapeNumbers = ((0.01,),)
    """The velocity v at which the joint slips, rad/s or m/s."""
    name = "mujoco"
    description = "friction as MuJoCo applies it"
    kinds = ("dry",)
    terms = (
        Term("Fm", "fm", ("N·m", "N"), positive(_PUSH + 1.0) - positive(_PUSH - 1.0) - 1.0, simulator="frictionloss"),
    )
    shapes = (ShapeParameter("velocity", ("rad/s", "m/s"), "speed", 1e-4, 0.4, 24),)

    def candidates(self) -> tuple[JointModel, ...]:
        """None: no robot rubs so; it is chosen for the sake of a simulator."""
        return ()


MODEL = MujocoFriction()
