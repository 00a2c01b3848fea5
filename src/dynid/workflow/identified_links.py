"""Links as people read them: every number with its standard deviation and where it comes from."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from dynid.arrays import Array, Float
from dynid.chain.consistency import consistency
from dynid.chain.inertia import InertialParameters
from dynid.prose import Grid, significant, with_std
from dynid.regression.estimate import Estimate
from dynid.regression.feasible.link_ranges import LinkRange
from dynid.regression.feasible.link_spread import PRIOR_ONLY, LinkSpread
from dynid.regression.model import IdentifiedModel

__all__ = ["IdentifiedLink", "IdentifiedNumber", "identified_links", "links_grid"]

MOSTLY_DATA = 0.9
"""Share of the data from which a number counts as identified: its prior changes σ by less than 5 %."""


class IdentifiedNumber(float):
    """A number with its standard deviation, its unit and where it comes from; it counts as a plain number."""

    std: float
    """Standard deviation in the same unit; nan where the data alone do not give one."""
    origin: str
    """identified, data and prior, prior only; without a prior: identified, combination, prior, bound, open or
    unreliable."""
    unit: str
    data_share: float
    """Share of what is known of it that came from the data, 0 to 1; nan where links had no prior."""
    range: tuple[float, float] | None
    """Smallest and largest value among equal fits, where that was asked for."""

    def __new__(
        cls,
        value: float,
        *,
        std: float,
        origin: str,
        unit: str,
        data_share: float = np.nan,
        range: tuple[float, float] | None = None,
    ) -> IdentifiedNumber:
        """A number of a unit."""
        made = super().__new__(cls, value)
        made.std, made.origin, made.unit = float(std), origin, unit
        made.data_share, made.range = float(data_share), range
        return made

    def __str__(self) -> str:
        shown = with_std(float(self), self.std) if np.isfinite(self.std) else f"{float(self):.5g}"
        share = f", {100.0 * self.data_share:.0f} % from the data" if self.origin == "data and prior" else ""
        ends = "" if self.range is None else f", {_range_text(self.range)} fit alike"
        return f"{shown} {self.unit} ({self.origin}{share}{ends})"

    __repr__ = __str__


@dataclass(frozen=True)
class IdentifiedLink:
    """One link of an identified robot, SI, about its own frame."""

    name: str
    mass: IdentifiedNumber
    """kg."""
    inertial: InertialParameters
    """All ten parameters."""
    spread: LinkSpread | None = None
    """σ and data shares of all its numbers; None where links had no prior."""
    range: LinkRange | None = None
    """Ranges among equal fits, where they were asked for."""

    @property
    def com(self) -> Float[Array, " 3"]:
        """Centre of mass, m."""
        return self.inertial.com

    @property
    def com_std(self) -> Float[Array, " 3"]:
        """Standard deviation of the centre of mass, m; nan where links had no prior."""
        return np.full(3, np.nan) if self.spread is None else self.spread.com_std

    @property
    def inertia_com(self) -> Float[Array, "3 3"]:
        """Inertia about the centre of mass, kg·m²."""
        return self.inertial.inertia_com

    @property
    def inertia_com_std(self) -> Float[Array, "3 3"]:
        """Standard deviation of the inertia about the centre of mass, kg·m²; nan where links had no prior."""
        return np.full((3, 3), np.nan) if self.spread is None else self.spread.inertia_com_std

    @property
    def data_share(self) -> float:
        """Share of what is known of the link that came from the data, 0 to 1; nan where links had no prior."""
        return np.nan if self.spread is None else self.spread.data_share

    @property
    def margin(self) -> float:
        """How far the link is from being physically inconsistent, SI."""
        return consistency(self.inertial).margin

    def __repr__(self) -> str:
        com = ", ".join(significant(x, std) for x, std in zip(self.com, self.com_std, strict=True))
        return f"IdentifiedLink({self.name!r}: {self.mass}, centre of mass ({com}) m)"


def identified_links(model: IdentifiedModel, estimate: Estimate) -> Mapping[str, IdentifiedLink]:
    """Links by name (SI); empty where the estimator gives no full parameters."""
    if model.theta is None:
        return {}
    masses = [k for k, column in enumerate(model.model.columns[: model.model.n_inertial]) if column.name == "m"]
    origins = estimate.full_origins or ("identified",) * model.model.n_params
    std = estimate.full_std
    links = {}
    for number, (name, pi, k) in enumerate(zip(model.robot.link_names, model.links, masses, strict=True)):
        spread = None if model.spreads is None else model.spreads.links[number]
        known = None if model.ranges is None else model.ranges[number]
        mass = IdentifiedNumber(
            pi.mass,
            std=std[k] if spread is None else spread.mass_std,
            origin=origins[k] if spread is None or origins[k] == "bound" else share_word(spread.mass_share),
            unit="kg",
            data_share=np.nan if spread is None else spread.mass_share,
            range=None if known is None else (float(known.mass[0]), float(known.mass[1])),
        )
        links[name] = IdentifiedLink(name, mass, pi, spread, known)
    return links


def share_word(share: float) -> str:
    """Where a number comes from, by the share of the data in what is known of it (0 to 1)."""
    return "prior only" if share < PRIOR_ONLY else "identified" if share > MOSTLY_DATA else "data and prior"


def links_grid(model: IdentifiedModel) -> Grid:
    """Mass (kg) and centre of mass (m) of every link, to the digits that mean something, and the share of the data."""
    if model.spreads is None:
        rows = [
            (name, f"{link.mass:.4f}", "  ".join(f"{x:.4f}" for x in link.com))
            for name, link in zip(model.robot.link_names, model.links, strict=True)
        ]
        return Grid(("link", "mass / kg", "centre of mass / m"), tuple(rows), (1,))
    told: list[tuple[str, ...]] = []
    for name, link, spread in zip(model.robot.link_names, model.links, model.spreads.links, strict=True):
        mass = number_text(link.mass, spread.mass_std, spread.mass_share)
        com = (number_text(*entry) for entry in zip(link.com, spread.com_std, spread.com_share, strict=True))
        told.append((name, mass, *com, f"{100.0 * spread.data_share:.0f}"))
    total = with_std(sum(link.mass for link in model.links), model.spreads.total_mass_std)
    told.append(("all", total, "", "", "", ""))
    headers: tuple[str, ...] = ("link", "mass / kg", "com x / m", "com y / m", "com z / m", "from data / %")
    if model.ranges is not None:
        headers = (*headers, "masses that fit alike / kg")
        ends = [_range_text((float(known.mass[0]), float(known.mass[1]))) for known in model.ranges]
        told = [(*row, text) for row, text in zip(told, [*ends, ""], strict=True)]
    return Grid(headers, tuple(told), (5,))


def number_text(value: float, std: float, share: float) -> str:
    """A number with its σ (the same unit), and a word where it is nothing but prior."""
    return with_std(value, std) + (" prior only" if share < PRIOR_ONLY else "")


def _range_text(ends: tuple[float, float]) -> str:
    """Two ends of a range (one unit) in words."""
    low, high = (f"{end if abs(end) > 1e-4 else 0.0:.3g}" if np.isfinite(end) else "any" for end in ends)
    return f"{low} … {high}"
