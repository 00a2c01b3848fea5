"""A motion that shows the parameters: curves with exact derivatives."""

from dynid.excitation.curves import Basis, Bounds, Curve, States
from dynid.excitation.fourier import FourierBasis, FourierSeries

MODULES = ("curves", "fourier")
"""The order of this folder: a module imports only those before it."""

__all__ = ["Basis", "Bounds", "Curve", "FourierBasis", "FourierSeries", "States"]
