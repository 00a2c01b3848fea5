"""The simulations of [Joukov2015]_ on the WAM, every number as the shared protocol fixes it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dynid.arrays import Array
from dynid.chain import InertialParameters, load_robot
from dynid.dynamics import Motion, TorqueModel
from dynid.tracking import LOAD_LINK, ConstrainedFilter, Principal, ProcessNoise, StateBound, StateMap

OMEGA = 0.3141592653589793
A = np.array(
    [
        [0.046717287134, -0.286375125132, 0.481321999454, 0.545806249419, 0.647561641415],
        [0.026823602882, 0.29214030106, -0.234305173793, 0.31846964883, 0.824260897356],
        [-0.070537190074, 0.397981589562, 0.448065055998, 0.401212236195, -0.034514914831],
        [0.135675949653, -0.349868710119, 0.150976490539, 0.114951043026, 0.927450344365],
        [0.214388055251, 0.352787856185, 0.157915945505, -0.018084141687, 0.03189856161],
        [-0.106090791547, 0.275720200066, 0.361697556495, -0.061281979888, 0.331453921397],
        [-0.008578564187, 0.238121870652, 0.372248714559, -0.454012191686, 0.745260139267],
    ]
)
B = np.array(
    [
        [0.185822788645, -0.398034472173, -0.179204552539, 0.626899939548, -0.458513602152],
        [0.087736106725, -0.081531147701, 0.050947390318, -0.015326073754, 0.653879855086],
        [-0.492606958239, 0.322552564995, -0.257527118126, -0.633025634914, 0.059399556402],
        [-0.135994146876, 0.059982143836, -0.125322817558, -0.142969212613, -0.033813707642],
        [-0.508727157202, 0.135697281808, 0.374779992731, -0.147444008953, -0.166652252771],
        [0.13095845327, 0.067830814221, 0.671266585046, -0.146941984786, -0.218073460116],
        [0.242151669916, 0.244765723558, -0.215929184278, -0.501904049504, -0.522893806349],
    ]
)
Q0 = np.array(
    [-0.292271668426, 0.108559668853, -0.023947942428, 1.672873240177, -2.41322561224, 0.196229973916, 0.577511959544]
)
"""Fourier coefficients of the first exciting trajectory, rad/s and rad."""

ROBOT = load_robot("wam7")
MODEL = TorqueModel(ROBOT)
TRUE = MODEL.nominal()
MASSES = TRUE[:70:10]


def fourier(t: Array, speed: float) -> tuple[Array, Array, Array]:
    """Positions, velocities and accelerations of the series without its offset, time scaled by `speed`."""
    harmonics = np.arange(1, 6)
    a, b, omega = A / (OMEGA * harmonics), B / (OMEGA * harmonics), speed * OMEGA * harmonics
    phase = np.outer(t, omega)
    q = np.sin(phase) @ a.T - np.cos(phase) @ b.T
    dq = (np.cos(phase) * omega) @ a.T + (np.sin(phase) * omega) @ b.T
    ddq = -(np.sin(phase) * omega**2) @ a.T + (np.cos(phase) * omega**2) @ b.T
    return q, dq, ddq


def exciting(rate_hz: float = 100.0, duration: float = 40.0) -> Motion:
    """Tests A and B: the series three times as fast."""
    t = np.arange(round(duration * rate_hz)) / rate_hz
    q, dq, ddq = fourier(t, 3.0)
    return Motion(t, q + Q0, dq, ddq)


def wrong(factor: float) -> Array:
    """Masses and inertias about the centres of mass times `factor`, centres of mass kept."""
    return factor * TRUE


def principal_pieces(theta: Array, upper: float = 2.0) -> list[Principal]:
    """Mass and principal inertias of every link, between zero and twice where they start."""
    pieces = []
    for row, name in zip(theta.reshape(-1, 10), ROBOT.link_names, strict=True):
        body = InertialParameters(row)
        first, second, third = (StateBound(0.0, upper * value) for value in np.linalg.eigvalsh(body.inertia_com))
        pieces.append(Principal(name, StateBound(0.0, upper * body.mass), (first, second, third)))
    return pieces


def moment_pieces(theta: Array, reach: float = 0.3) -> list[Principal]:
    """The same with first moments, inside a box of `reach` (m) that holds at least twice the start."""
    pieces = []
    for row, piece in zip(theta.reshape(-1, 10), principal_pieces(theta), strict=True):
        x, y, z = (StateBound(-size, size) for size in np.maximum(reach * row[0], 2.0 * np.abs(row[1:4])))
        pieces.append(Principal(piece.link, piece.mass, piece.inertia, (x, y, z)))
    return pieces


@dataclass(frozen=True, eq=False)
class Draw:
    """One noise draw of tests A and B."""

    motion: Motion
    tau: Array
    """Exact."""
    measured: Array
    noise: Array


def draw(seed: int, measure: tuple[str, ...] = ("torque",), motion: Motion | None = None) -> Draw:
    """Torque and base wrench with noise of 1 % of the largest value of each channel."""
    motion = motion or exciting()
    tau = MODEL.torque(motion, TRUE)
    clean = {"torque": tau, "base-wrench": MODEL.base_wrench(motion, TRUE)}
    rows, levels = [], []
    for offset, (kind, values) in enumerate(clean.items()):
        sd = 0.01 * np.max(np.abs(values), axis=0)
        if kind in measure:
            rows.append(values + sd * np.random.default_rng(seed + 1000 * offset).standard_normal(values.shape))
            levels.append(sd)
    return Draw(motion, tau, np.hstack(rows), np.concatenate(levels))


def arm_filter(factor: float, noise: Array, measure=("torque",), *, opened: bool = False) -> ConstrainedFilter:
    """The filter of tests A and B."""
    theta = wrong(factor)
    state = StateMap.of(MODEL, theta, principal_pieces(theta))
    return ConstrainedFilter(
        model=MODEL,
        state=state.opened() if opened else state,
        noise=noise,
        measure=measure,
        process_noise=ProcessNoise(start=1e-2, samples=200.0),
    )


COM = np.array([0.0, 0.0, 0.1])
BOX = np.array([0.0325, 0.05, 0.0625])
T_PICK, T_MOVE, T_FALL, T_LIGHT = 2.6, 3.6, 6.6, 9.6


def carrying() -> Motion:
    """Test C: at rest until 3.6 s, then the series twice as fast, faded in over a second."""
    t = np.arange(1200) / 100.0
    q, dq, ddq = fourier(t - T_MOVE, 2.0)
    u = np.clip(t - T_MOVE, 0.0, 1.0)[:, None]
    r, dr, ddr = 10 * u**3 - 15 * u**4 + 6 * u**5, 30 * u**2 - 60 * u**3 + 30 * u**4, 60 * u - 180 * u**2 + 120 * u**3
    start = np.array([0.0, np.pi / 2, 0.0, 0.0, 0.0, 0.0, 0.0])
    return Motion(t, start + r * q, dr * q + r * dq, ddr * q + 2 * dr * dq + r * ddq)


def body_at(t: float) -> InertialParameters:
    """What hangs on the last joint in test C."""
    if t < T_PICK - 1e-9:
        last = InertialParameters(TRUE[60:])
        return InertialParameters.from_com(last.mass, COM, last.inertia_com)
    share = 1.0 if t <= T_FALL else max(1.0 / 3.0, 1.0 - 2.0 / 3.0 * (t - T_FALL) / (T_LIGHT - T_FALL))
    return InertialParameters.from_com(3.0 * share, COM, share * np.diag(BOX))


def carrying_draw(seed: int) -> Draw:
    """One noise draw of test C."""
    motion = carrying()
    arm = TRUE.copy()
    arm[60:] = 0.0
    bodies = np.array([body_at(t).pi for t in motion.t])
    tau = MODEL.torque(motion, arm) + np.einsum("njk,nk->nj", MODEL.regressor(motion)[:, :, 60:], bodies)
    sd = 0.01 * np.max(np.abs(tau), axis=0)
    return Draw(motion, tau, tau + sd * np.random.default_rng(seed).standard_normal(tau.shape), sd)


def carrying_filter(noise: Array) -> ConstrainedFilter:
    """The filter of test C: mass and three inertias of the body that replaces link 7."""
    arm = TRUE.copy()
    arm[60:] = 0.0
    start = InertialParameters.from_com(0.5, COM, 0.02 * np.eye(3))
    body = Principal(LOAD_LINK, StateBound(0.0, 4.0), (StateBound(0.0, 0.2),) * 3)
    state = StateMap.of(MODEL, arm, [body], load=start)
    return ConstrainedFilter(
        model=MODEL, state=state, noise=noise, process_noise=ProcessNoise.constant(3e-4), carry="state"
    )
