"""What would it do: motions to command, sensors, control loops, and recordings with known truth."""

from dynid.simulation.closed_loop import Controller
from dynid.simulation.motions import smooth_motion
from dynid.simulation.sensors import Level, SensorModel
from dynid.simulation.synthetic import Synthetic, plausible_parameters, synthesise

MODULES = ("motions", "sensors", "loop_kernels", "closed_loop", "synthetic")
"""The order of this folder: a module imports only those before it."""

__all__ = [
    "Controller",
    "Level",
    "SensorModel",
    "Synthetic",
    "plausible_parameters",
    "smooth_motion",
    "synthesise",
]
