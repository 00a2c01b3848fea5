"""Load changes: pick, place and slow change of what the arm carries, kept apart from contacts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from dynid.arrays import Array, Float, Matrix3, Transform, Vector3, freeze_arrays
from dynid.chain.consistency import consistency, nearest_consistent
from dynid.chain.inertia import InertialParameters
from dynid.dynamics.model import TorqueModel
from dynid.errors import TrackingError
from dynid.tracking.filter import ConstrainedFilter
from dynid.tracking.rows import LOAD_SYMBOLS, Measurement
from dynid.tracking.samples import ProcessNoise
from dynid.tracking.state_map import Entry, StateBound, StateMap

__all__ = ["KNOCK", "EventKind", "LoadEstimate", "LoadEvent", "Reaction", "load_filter"]

EventKind = Literal["initial load", "pick", "place", "change", "contact", "contact over"]
"""What happened: the first load is known; it became heavier, lighter, or changed slowly; something touched the arm, or
let go."""

Reaction = Literal["stop", "give way", "go on", "set load"]
"""What a controller does about an event: stop, float in gravity compensation, resume, set the load."""
KNOCK = 0.05
"""Time in s within which the external torque of a knock rises; a slower one is a push."""


@dataclass(frozen=True, eq=False)
class LoadEstimate:
    """A load as controllers want it: about the flange (load) frame, SI."""

    mass: float
    """kg; never below zero."""
    mass_std: float
    """kg."""
    com: Vector3
    """Centre of mass in m; zero where the load weighs nothing."""
    inertia_com: Matrix3
    """Inertia about the centre of mass, kg·m²."""

    def __post_init__(self) -> None:
        freeze_arrays(self)

    @classmethod
    def of(cls, load: Float[Array, " 10"], mass_std: float) -> LoadEstimate:
        """From the ten inertial parameters of a load (SI); below three standard deviations of mass there is none."""
        body = InertialParameters(load)
        if body.mass <= 3.0 * mass_std or body.mass <= 0.0:
            return cls(max(body.mass, 0.0), mass_std, np.zeros(3), np.zeros((3, 3)))
        if not consistency(body).holds:
            # Inertia is the last thing a load shows; a controller refuses one that no body has.
            body = nearest_consistent(body)
        return cls(body.mass, mass_std, body.com, body.inertia_com)

    def __repr__(self) -> str:
        com = ", ".join(f"{value:.3f}" for value in self.com)
        return f"LoadEstimate({self.mass:.3f} ± {self.mass_std:.3f} kg, centre of mass [{com}] m)"

    def settings(self) -> dict[str, str]:
        """The line to type into a controller, by vendor; kg, m (mm for ABB and KUKA) and kg·m²."""
        m, c, I = self.mass, self.com, self.inertia_com  # noqa: E741
        six = (I[0, 0], I[1, 1], I[2, 2], I[0, 1], I[0, 2], I[1, 2])
        nine = ", ".join(f"{value:.4g}" for value in I.T.ravel())
        com, mm = ", ".join(f"{value:.4f}" for value in c), [f"{1e3 * value:.1f}" for value in c]
        return {
            "Universal Robots": f"set_target_payload({m:.3f}, [{com}], [{', '.join(f'{value:.4g}' for value in six)}])",
            "Franka": f"setLoad({m:.3f}, {{{com}}}, {{{nine}}})",
            "KUKA": f"LOAD_DATA={{M {m:.3f},CM {{X {mm[0]},Y {mm[1]},Z {mm[2]},A 0,B 0,C 0}},"
            f"J {{X {I[0, 0]:.4g},Y {I[1, 1]:.4g},Z {I[2, 2]:.4g}}}}}",
            "ABB": f"[{m:.3f},[{','.join(mm)}],[1,0,0,0],{I[0, 0]:.4g},{I[1, 1]:.4g},{I[2, 2]:.4g}]",
        }


@dataclass(frozen=True, eq=False)
class LoadEvent:
    """Something happened to the load, or something touched the arm."""

    kind: EventKind
    t: float
    """When it was decided, s."""
    mass: float
    """Mass of the load in kg as the filter had it then."""
    torque: Float[Array, " n_dof"]
    """External joint torque at that time, N·m or N."""
    mass_std: float = np.nan
    """σ of that mass, kg."""
    delay: float = np.nan
    """Time in s from when it began, as far as that can be told, to the decision."""
    link: str | None = None
    """The link in contact; None for events of the load."""
    force: Vector3 | None = None
    """Force of the contact at the far end of that link, N in base axes; None where the torques do not show it."""
    nature: Literal["knock", "push"] | None = None
    """How fast the contact came: a knock within `KNOCK` s, or a slow push; None for events of the load."""

    def __post_init__(self) -> None:
        freeze_arrays(self)

    @property
    def reaction(self) -> Reaction:
        """What a controller would do: stop after a knock, give way to a push, go on, or take over the load."""
        if self.kind == "contact":
            return "stop" if self.nature == "knock" else "give way"
        return "go on" if self.kind == "contact over" else "set load"

    @property
    def sentence(self) -> str:
        """What happened, for people: kg, N, s."""
        late = f", {self.delay:.2f} s after it began" if np.isfinite(self.delay) and self.kind != "initial load" else ""
        if self.link is None:
            spread = f" ± {self.mass_std:.3f}" if np.isfinite(self.mass_std) else ""
            return f"{self.kind}, load {self.mass:.3f}{spread} kg{late}"
        size = "" if self.force is None else f", about {float(np.linalg.norm(self.force)):.0f} N"
        return f"{self.kind}, {self.nature} at {self.link}{size}{late}"

    def __repr__(self) -> str:
        where = "" if self.link is None else f", {self.nature} at {self.link}"
        return f"LoadEvent({self.kind} at {self.t:.3f} s{where}, load {self.mass:.3f} kg)"


def load_filter(
    model: TorqueModel,
    theta: Float[Array, " n_params"],
    *,
    noise: Float[Array, " n_rows"],
    max_mass: float,
    reach: float = 0.3,
    inertia: bool = True,
    process_noise: float = 3e-4,
    measure: tuple[Measurement, ...] = ("torque",),
    noise_memory: float = 0.0,
    carrier: int = -1,
    T_carrier_load: Transform | None = None,
) -> ConstrainedFilter:
    """A filter of the load alone on a known arm.

    Args:
        model: the arm.
        theta: its parameters without load, SI.
        noise: standard deviation of the measured rows, N·m or N.
        max_mass: the heaviest load, kg.
        reach: how far its centre of mass may lie from the load frame, m.
        inertia: estimate the six inertias too; they move only once the motion shows them.
        process_noise: k of every state, dimensionless, per sample.
        measure: what is measured.
        noise_memory: samples over which the noise is estimated; 0 keeps it.
        carrier: index of the link that carries the load.
        T_carrier_load: load frame in that link's frame.
    """
    if not (max_mass > 0.0 and reach > 0.0):
        raise TrackingError(f"a load of up to {max_mass:g} kg within {reach:g} m; both must be above zero")
    # An empty hand lies inside the bounds, not on their edge, from where a sigmoid hardly returns.
    bounds = [StateBound(-0.25 * max_mass, 1.25 * max_mass)]
    bounds += [StateBound(-max_mass * reach, max_mass * reach)] * 3
    bounds += [StateBound(-max_mass * reach**2, max_mass * reach**2)] * 6
    wanted = LOAD_SYMBOLS if inertia else LOAD_SYMBOLS[:4]
    pieces = [Entry(symbol, bound) for symbol, bound in zip(wanted, bounds, strict=False)]
    return ConstrainedFilter(
        model=model,
        state=StateMap.of(model, theta, pieces),
        noise=noise,
        measure=measure,
        process_noise=ProcessNoise.constant(process_noise),
        carry="state",
        noise_memory=noise_memory,
        initial_std=0.3,
        carrier=carrier,
        T_carrier_load=np.eye(4) if T_carrier_load is None else T_carrier_load,
    )
