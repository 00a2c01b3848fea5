"""Whether the model holds on data it was not fitted to."""

from typing import TYPE_CHECKING

from dynid.lazy import exported_names, lazy_names

if TYPE_CHECKING:
    from dynid.validation.band import NextRun as NextRun
    from dynid.validation.band import TorqueBand as TorqueBand
    from dynid.validation.band import next_run_band as next_run_band
    from dynid.validation.band import torque_band as torque_band
    from dynid.validation.torque import Contributions as Contributions
    from dynid.validation.torque import Validation as Validation
    from dynid.validation.torque import compare_torque as compare_torque
    from dynid.validation.torque import contributions as contributions
    from dynid.validation.verdict import Criterion as Criterion
    from dynid.validation.verdict import Mark as Mark
    from dynid.validation.verdict import Verdict as Verdict
    from dynid.validation.verdict import judge as judge

MODULES = ("band", "torque", "left_out", "rollout", "simulator", "verdict")
"""The order of this folder: a module imports only those before it."""

__all__ = exported_names(__name__)  # pyright: ignore[reportUnsupportedDunderAll]
__getattr__ = lazy_names(__name__)
