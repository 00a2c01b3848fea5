"""Parameters while the robot moves: a filter that starts 30 % wrong and keeps every parameter in bounds.

The same on the command line: dynid track result/model.json log.csv --from-wrong 0.3
"""

import numpy as np

import dynid
from dynid.tracking import TrackedMoment

robot = dynid.load_robot("spatial2r")
train, log = (dynid.simulate(robot, duration=12.0, rate=200.0, noise_tau="2%", seed=seed) for seed in (1, 2))
model = dynid.identify(robot, train.recording, force=True).model
truth = dict(zip(train.model.symbols, train.theta, strict=True))
shown, moments = ("mc2x", "J2xx", "fc2"), [0.0, 0.1, 0.5, 2.0, 5.0, 10.0]  # s
print("   t / s", *(f"{name:>10} {'± 1σ':>8}" for name in shown))


def watch(moment: TrackedMoment) -> None:
    """Print a few moments of the way."""
    now = moment.parameters
    numbers = {name: (value, std) for name, value, std in zip(now.symbols, now.values, now.std, strict=True)}
    if moments and moment.t >= moments[0]:
        moments.pop(0)
        print(f"{moment.t:8.2f}", *(f"{numbers[name][0]:10.4f} {numbers[name][1]:8.4f}" for name in shown))


found = dynid.track(model, log.recording, from_wrong=0.3, watch=watch)
print("   truth", *(f"{truth[name]:10.4f} {'':8}" for name in shown))
state = found.run.health
print(
    f"\nNIS {state.nis_mean:.2f}: a healthy filter stays between {state.nis_band[0]:.2f} and {state.nis_band[1]:.2f}."
)
print("Torque is right within a second; what it cannot tell apart keeps some of its error.\n")

# Torque of a motion that neither log has, by the model that the filter leaves.
t = np.linspace(0.0, 5.0, 1001)[:, None]
speed, size = np.array([1.0, 2.0]), np.array([0.8, 0.5])
motion = dynid.Motion(
    t[:, 0], size * np.sin(speed * t), size * speed * np.cos(speed * t), -size * speed**2 * np.sin(speed * t)
)
right = train.model.torque(motion, train.theta)
tau = dynid.predict(found.model, motion.q, motion.dq, motion.ddq).tau
error = 100.0 * np.linalg.norm(tau - right) / np.linalg.norm(right)
print(f"torque error on another motion: {error:.2f} % after tracking")
