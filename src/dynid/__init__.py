"""dynid identifies the dynamics of robot arms: physically possible parameters from a robot file and a log.

Everything public is imported from here on first use, so that ``import dynid`` itself costs nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from dynid.lazy import lazy_names

__version__ = "0.1.0"

if TYPE_CHECKING:
    from dynid.chain import *  # noqa: F403, I001
    from dynid.dynamics import *  # noqa: F403
    from dynid.excitation import (
        Excitation as Excitation,
        FourierBasis as FourierBasis,
        FourierSeries as FourierSeries,
        Information as Information,
        MotionLimits as MotionLimits,
        SplineBasis as SplineBasis,
        Trajectory as Trajectory,
        Workspace as Workspace,
        WorkspaceLimit as WorkspaceLimit,
        assess as assess,
        design_excitation as design_excitation,
        design_poses as design_poses,
        point_to_point as point_to_point,
        random_fourier as random_fourier,
        sinusoids as sinusoids,
        sufficiency as sufficiency,
    )
    from dynid.recording import *  # noqa: F403
    from dynid.regression import *  # noqa: F403
    from dynid.review import *  # noqa: F403
    from dynid.simulation import *  # noqa: F403
    from dynid.tracking import (
        StateBound as StateBound,
        Consistent as Consistent,
        ConstrainedFilter as ConstrainedFilter,
        ContactObserver as ContactObserver,
        Entry as Entry,
        LoadWatch as LoadWatch,
        StateMap as StateMap,
        Tracker as Tracker,
        health as health,
        load_filter as load_filter,
        replay as replay,
        samples_of as samples_of,
    )
    from dynid.validation import *  # noqa: F403
    from dynid.writers import *  # noqa: F403

_HOMES = {
    "dynid.chain": (
        "Box",
        "Consistency",
        "Ellipsoid",
        "InertialParameters",
        "Joint",
        "Limits",
        "Link",
        "Robot",
        "consistency",
        "lint",
        "load_robot",
        "nearest_consistent",
    ),
    "dynid.dynamics": (
        "FRICTION",
        "BaseParameters",
        "Column",
        "Drives",
        "LagrangianModel",
        "Motion",
        "RotorInertia",
        "TorqueModel",
        "base_parameters",
        "friction_models",
        "random_motion",
    ),
    "dynid.excitation": (
        "Excitation",
        "FourierBasis",
        "FourierSeries",
        "Information",
        "MotionLimits",
        "SplineBasis",
        "Trajectory",
        "Workspace",
        "WorkspaceLimit",
        "assess",
        "design_excitation",
        "design_poses",
        "point_to_point",
        "random_fourier",
        "sinusoids",
        "sufficiency",
    ),
    "dynid.recording": (
        "DATA_SETS",
        "ColumnMap",
        "Conditioning",
        "Recording",
        "fetch_data",
        "read_column_map",
        "read_recording",
        "stream_recording",
        "write_csv",
    ),
    "dynid.simulation": (
        "Controller",
        "Level",
        "SensorModel",
        "Synthetic",
        "plausible_parameters",
        "simulate",
        "smooth_motion",
    ),
    "dynid.regression": (
        "IdentifiedModel",
        "load_model",
        "save_model",
        "OLS",
        "WLS",
        "Constraints",
        "ControllerSamples",
        "Estimate",
        "Feasible",
        "FrictionFit",
        "Frustum",
        "KnownArm",
        "MultiStart",
        "Payload",
        "Prior",
        "Regression",
        "Retrieval",
        "RetrievalConstraints",
        "RetrievalObjective",
        "Reverse",
        "Robust",
        "SampleRows",
        "Sphere",
        "StreamedRows",
        "Symmetry",
        "Tie",
        "UserFunction",
        "choose_friction",
        "compress",
        "fit_friction",
        "friction_rows",
        "identify_gains",
        "identify_payload",
        "read_bounds",
        "read_controller_samples",
        "read_retrieval",
    ),
    "dynid.tracking": (
        "StateBound",
        "Consistent",
        "ConstrainedFilter",
        "ContactObserver",
        "Entry",
        "LoadWatch",
        "StateMap",
        "Tracker",
        "health",
        "load_filter",
        "replay",
        "samples_of",
    ),
    "dynid.validation": ("Validation", "validate"),
    "dynid.writers": (
        "write_c_header",
        "write_mjcf",
        "write_urdf",
    ),
}
__all__ = sorted(name for names in _HOMES.values() for name in names)  # pyright: ignore[reportUnsupportedDunderAll]
__getattr__ = lazy_names("dynid", _HOMES)


def __dir__() -> list[str]:
    return [*__all__, "__version__"]
