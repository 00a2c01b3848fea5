"""What would it do: motions to command, sensors, control loops, and recordings with known truth."""

from typing import TYPE_CHECKING

from dynid.lazy import exported_names, lazy_names

if TYPE_CHECKING:
    from dynid.simulation.closed_loop import Controller as Controller
    from dynid.simulation.motions import smooth_motion as smooth_motion
    from dynid.simulation.sensors import Level as Level
    from dynid.simulation.sensors import SensorModel as SensorModel
    from dynid.simulation.synthetic import Synthetic as Synthetic
    from dynid.simulation.synthetic import plausible_parameters as plausible_parameters
    from dynid.simulation.synthetic import synthesise as synthesise

MODULES = (
    "motions",
    "sensors",
    "loop_kernels",
    "closed_loop",
    "synthetic",
    "arm_kernels",
    "friction_step",
    "roll_kernels",
    "resistance",
    "arm",
    "sensitivity",
    "joint_controller",
    "mujoco_arm",
)
"""The order of this folder: a module imports only those before it."""

__all__ = exported_names(__name__)  # pyright: ignore[reportUnsupportedDunderAll]
__getattr__ = lazy_names(__name__)
