"""The sigmoid of the Panda paper."""

from dataclasses import dataclass

from dynid.dynamics.formula import DQ, logistic, shape_number
from dynid.dynamics.joint_model import JointModel, ShapeNumbers, ShapeParameter, Term

__all__ = ["Sigmoid"]

_STEEP, _SHIFT = shape_number(0), shape_number(1)


@dataclass(frozen=True)
class Sigmoid(JointModel):
    r"""The curve of [Gaz2019]_, eq. (25); zero at rest, of different height on both sides when shifted.

    .. math::

        \tau_f = \frac{\varphi_1}{1 + e^{-\varphi_2 (\dot q + \varphi_3)}}
            - \frac{\varphi_1}{1 + e^{-\varphi_2 \varphi_3}}
    """

    shape: ShapeNumbers = ((10.0,), (0.0,))
    r""":math:`\varphi_2` in s/rad or s/m, then :math:`\varphi_3` in rad/s or m/s."""
    name = "sigmoid"
    description = "sigmoidal friction"
    kinds = ("dry",)
    terms = (Term("phi1", "phi1_", ("N·m", "N"), logistic(_STEEP * (DQ + _SHIFT)) - logistic(_STEEP * _SHIFT)),)
    # Searched where the curve levels off within the speeds of a log.
    shapes = (
        ShapeParameter("phi2", ("s/rad", "s/m"), "1/speed", 3.0, 500.0, 20),
        ShapeParameter("phi3", ("rad/s", "m/s"), "speed", -0.3, 0.3, 7, signed=True),
    )


MODEL = Sigmoid()
