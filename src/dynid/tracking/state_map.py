r"""Maps from the free state of the filter to parameters inside their bounds, with exact derivatives.

A sigmoid holds each parameter between its bounds [Joukov2015]_ (eq. 8),

.. math::

    p = b + \frac{a - b}{1 + e^{-c x}}, \qquad \frac{\partial p}{\partial x} = c\,\frac{(p - b)(a - p)}{a - b}

and log-Cholesky numbers hold a whole link physically consistent [Rucker2022]_.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

import numpy as np

from dynid.arrays import Array, Float, Vector3, freeze_arrays
from dynid.chain.inertia import INERTIAL_UNITS, InertialParameters
from dynid.dynamics.kernels.bound import run_kernel
from dynid.dynamics.model import TorqueModel
from dynid.errors import ParameterError, TrackingError, UnknownName
from dynid.prose import counted
from dynid.tracking.base_link import BASE_LINK, BASE_SYMBOLS
from dynid.tracking.bundles import ARM
from dynid.tracking.rows import LOAD_SYMBOLS
from dynid.tracking.state_kernels import MapArrays, evaluate_map

__all__ = ["LOAD_LINK", "Consistent", "Entry", "Principal", "StateBound", "StateMap", "StatePiece"]

LOAD_LINK = "load"
"""The name of the load where a link is asked for."""
_WIDTH = 10
"""Inertial parameters of a link, the most columns that one state acts on."""


@dataclass(frozen=True)
class StateBound:
    """Where a parameter may lie (in its own unit, SI), and how steep its sigmoid is (dimensionless)."""

    lower: float = -np.inf
    upper: float = np.inf
    slope: float = 1.0
    """c of the sigmoid."""
    scale: float = 1.0
    """Change of the parameter per unit of state (same unit) where there are no bounds."""

    def __post_init__(self) -> None:
        if np.isfinite(self.lower) != np.isfinite(self.upper):
            raise ParameterError(f"a bound needs both sides or none, got ({self.lower:g}, {self.upper:g})")
        if not self.lower < self.upper or not self.slope > 0.0 or not self.scale > 0.0:
            raise ParameterError(
                f"bounds ({self.lower:g}, {self.upper:g}) with slope {self.slope:g} and scale {self.scale:g} hold "
                "nothing; the upper must lie above the lower, and slope and scale above zero"
            )

    @property
    def free(self) -> bool:
        """Whether there is no bound."""
        return not np.isfinite(self.lower)


@dataclass(frozen=True)
class Entry:
    """One column of θ as a state: by its symbol (``m3``, ``mc3x``, ``fv3``, ``mL``, ``m0``), with its bound (SI)."""

    symbol: str
    bound: StateBound


@dataclass(frozen=True)
class Principal:
    """Mass, principal inertias about the centre of mass and, if given, first moments of one link (SI).

    Centre of mass (unless its moments are states) and principal axes are those of the initial parameters.
    """

    link: str
    mass: StateBound
    inertia: tuple[StateBound, StateBound, StateBound]
    """In the order of the axes, kg·m²."""
    moment: tuple[StateBound, StateBound, StateBound] | None = None
    """kg·m; None keeps the centre of mass where it is."""


@dataclass(frozen=True)
class Consistent:
    """All ten inertial parameters of one link through log-Cholesky: physically consistent whatever the state."""

    link: str
    scale: float = 0.3
    """Relative size of what the initial values may be wrong by, per unit of state (dimensionless)."""


StatePiece = Entry | Principal | Consistent
"""What a state map is made of."""


@dataclass(frozen=True, eq=False)
class MapValues:
    """What a state stands for."""

    values: Float[Array, " n_state"]
    """Estimated parameters, SI; log-Cholesky numbers as they are."""
    rate: Float[Array, " n_state"]
    """∂p/∂x, SI per unit of state."""
    theta: Float[Array, " n_columns"]
    """θ with the load's ten, SI."""
    jacobian: Float[Array, "n_columns n_state"]
    """∂θ/∂x, SI per unit of state."""


@dataclass(frozen=True, eq=False)
class StateMap:
    """Which parameters are estimated, where they start, and how a free state maps to them."""

    symbols: tuple[str, ...]
    """Name of every state, in order."""
    units: tuple[str, ...]
    bounds: tuple[StateBound, ...]
    arrays: MapArrays
    x0: Float[Array, " n_state"]
    """State of the initial parameters, dimensionless."""
    columns: tuple[str, ...]
    """Symbols of θ with the load's ten after the model's, and the base link's after them where it is estimated."""

    def __post_init__(self) -> None:
        freeze_arrays(self)

    def __repr__(self) -> str:
        shown = ", ".join(self.symbols[:4]) + (", …" if self.n_state > 4 else "")
        return f"StateMap({counted(self.n_state, 'state')}: {shown})"

    @property
    def n_state(self) -> int:
        """Number of states."""
        return len(self.symbols)

    @classmethod
    def of(
        cls,
        model: TorqueModel,
        theta: Float[Array, " n_params"],
        pieces: Iterable[StatePiece],
        *,
        load: InertialParameters | None = None,
        base: InertialParameters | None = None,
    ) -> StateMap:
        """The map of some pieces around initial parameters θ (SI), an initial load and an initial base link.

        Without `base` a wrench under the base is that of the moving links alone.

        Raises:
            ParameterError: an initial value outside its bounds, or a piece named twice.
            UnknownName: a symbol or a link that does not exist.
        """
        bodies = [(load or InertialParameters.zero()).pi, *(() if base is None else (base.pi,))]
        builder = _Builder(model, np.concatenate([theta, *bodies]))
        for piece in pieces:
            builder.add(piece)
        return builder.built()

    def at(self, x: Float[Array, " n_state"]) -> MapValues:
        """Parameters, θ and derivatives (SI per unit of state) at a state."""
        theta, G = np.zeros(len(self.columns)), np.zeros((self.n_state, _WIDTH))
        p, rate = np.zeros(self.n_state), np.zeros(self.n_state)
        run_kernel(ARM, evaluate_map, self.arrays, np.array(x, dtype=float), theta, G, p, rate)
        whole = np.zeros((len(self.columns), self.n_state))
        for s, first in enumerate(self.arrays.first):
            width = self.arrays.width[s] or _WIDTH
            whole[first : first + width, s] = G[s, :width]
        return MapValues(p, rate, theta, whole)

    def values_at(self, x: Float[Array, "*rows n_state"]) -> Float[Array, "*rows n_state"]:
        """Parameters (SI) of one or several states, each through its own curve."""
        a = self.arrays
        # A state far out is a parameter on its bound, not an overflow.
        share = 1.0 / (1.0 + np.exp(np.clip(-a.slope * x, -700.0, 700.0)))
        return np.where(a.bounded, a.lower + (a.upper - a.lower) * share, a.centre + a.scale * x)

    def active_columns(self) -> Array:
        """(n_columns,) mask of the columns that some state acts on."""
        return np.any(self.at(self.x0 + 1e-3).jacobian != 0.0, axis=1)

    def opened(self) -> StateMap:
        """The same states without bounds, each the parameter itself in SI: the unconstrained filter of the paper."""
        start, ones = self.at(self.x0).values, np.ones(self.n_state)
        arrays = self.arrays._replace(bounded=np.zeros(self.n_state, dtype=bool), scale=ones, centre=start)
        return replace(self, bounds=(StateBound(),) * self.n_state, arrays=arrays, x0=np.zeros(self.n_state))


class _Builder:
    """Collects the pieces of a state map."""

    def __init__(self, model: TorqueModel, theta: Array) -> None:
        self.model, self.start, self.fixed = model, theta, theta.copy()
        self.columns = (*model.symbols, *LOAD_SYMBOLS, *BASE_SYMBOLS)[: len(theta)]
        units = [*(column.unit for column in model.columns), *INERTIAL_UNITS, *INERTIAL_UNITS]
        self.units_of = dict(zip(self.columns, units[: len(theta)], strict=True))
        self.symbols: list[str] = []
        self.units: list[str] = []
        self.bounds: list[StateBound] = []
        self.values: list[float] = []
        self.first: list[int] = []
        self.width: list[int] = []
        self.B: list[Array] = []
        self.groups: list[tuple[int, int, Array]] = []

    def add(self, piece: StatePiece) -> None:
        if isinstance(piece, Entry):
            if piece.symbol not in self.columns:
                raise UnknownName(piece.symbol, known=self.columns, kind="parameter")
            index = self.columns.index(piece.symbol)
            unit = np.zeros(_WIDTH)
            unit[0] = 1.0
            self._state(piece.symbol, self.units_of[piece.symbol], piece.bound, self.start[index], index, 1, unit)
            self.fixed[index] = 0.0
        elif isinstance(piece, Principal):
            self._principal(piece)
        else:
            self._consistent(piece)

    def _place(self, link: str) -> tuple[int, str]:
        names = self.model.robot.link_names
        if link == LOAD_LINK:
            return self.model.n_params, "L"
        based = len(self.columns) > self.model.n_params + 10
        if based and link == BASE_LINK:
            return self.model.n_params + 10, "0"
        if link not in names:
            raise UnknownName(link, known=(*names, LOAD_LINK, *((BASE_LINK,) if based else ())), kind="link")
        return 10 * names.index(link), str(names.index(link) + 1)

    def _state(
        self, symbol: str, unit: str, bound: StateBound, value: float, first: int, width: int, direction: Array
    ) -> None:
        if symbol in self.symbols:
            raise ParameterError(f"{symbol} is named twice as a state; name it once")
        if not bound.lower < value < bound.upper:
            raise ParameterError(
                f"{symbol} starts at {value:.6g} {unit}, outside its bounds ({bound.lower:g}, {bound.upper:g}); "
                "widen them or start inside, not on an edge: a sigmoid never leaves its edge"
            )
        self.symbols.append(symbol)
        self.units.append(unit)
        self.bounds.append(bound)
        self.values.append(float(value))
        self.first.append(first)
        self.width.append(width)
        self.B.append(direction)

    def _principal(self, piece: Principal) -> None:
        first, number = self._place(piece.link)
        body = InertialParameters(self.start[first : first + 10])
        moments, axes = np.linalg.eigh(body.inertia_com)
        linear = piece.moment is None
        width = _WIDTH if linear else 0
        at_com = InertialParameters.from_com(1.0, body.com, np.zeros((3, 3))).pi
        if not linear:
            self.groups.append((0, len(self.symbols), axes))
        self._state(f"m{number}", "kg", piece.mass, body.mass, first, width, at_com)
        for bound, axis, value in zip(piece.moment or (), "xyz", body.first_moment, strict=False):
            self._state(f"mc{number}{axis}", "kg·m", bound, value, first, 0, np.zeros(_WIDTH))
        for k, bound in enumerate(piece.inertia):
            direction = _tensor(axes[:, k])
            self._state(f"I{number}{'abc'[k]}", "kg·m²", bound, moments[k], first, width, direction)
        self.fixed[first : first + 10] = 0.0

    def _consistent(self, piece: Consistent) -> None:
        first, number = self._place(piece.link)
        try:
            numbers = InertialParameters(self.start[first : first + 10]).log_cholesky
        except ParameterError as error:
            raise ParameterError(f"{piece.link}: does not start physically consistent; {error}") from error
        sizes = np.exp(numbers[1:4])
        scales = piece.scale * np.array([1.0, 1.0, 1.0, 1.0, sizes[0], sizes[1], sizes[0], *sizes])
        names = ("alpha", "d1", "d2", "d3", "s12", "s23", "s13", "t1", "t2", "t3")
        self.groups.append((1, len(self.symbols), np.eye(3)))
        for name, value, scale in zip(names, numbers, scales, strict=True):
            self._state(
                f"{name}_{number}",
                "m" if name[0] in "dst" else "",
                StateBound(scale=scale),
                value,
                first,
                0,
                np.zeros(10),
            )
        self.fixed[first : first + 10] = 0.0

    def built(self) -> StateMap:
        if not self.symbols:
            raise TrackingError("no parameter is to be estimated; name at least one state")
        bounded = np.array([not bound.free for bound in self.bounds])
        lower = np.array([bound.lower if not bound.free else 0.0 for bound in self.bounds])
        upper = np.array([bound.upper if not bound.free else 1.0 for bound in self.bounds])
        slope = np.array([bound.slope for bound in self.bounds])
        values = np.array(self.values)
        x0 = np.zeros(len(values))
        inside = bounded
        x0[inside] = np.log((values - lower)[inside] / (upper - values)[inside]) / slope[inside]
        arrays = MapArrays(
            lower,
            upper,
            slope,
            np.array([bound.scale for bound in self.bounds]),
            np.where(bounded, 0.0, values),
            bounded,
            np.array(self.first, dtype=np.int64),
            np.array(self.width, dtype=np.int64),
            np.array(self.B),
            self.fixed,
            np.array([kind for kind, _, _ in self.groups], dtype=np.int64),
            np.array([start for _, start, _ in self.groups], dtype=np.int64),
            np.array([axes for _, _, axes in self.groups]).reshape(-1, 3, 3),
        )
        return StateMap(tuple(self.symbols), tuple(self.units), tuple(self.bounds), arrays, x0, self.columns)


def _tensor(axis: Vector3) -> Float[Array, " 10"]:
    """Inertia of one unit about an axis, as ten numbers."""
    return InertialParameters.from_com(0.0, np.zeros(3), np.outer(axis, axis)).pi
