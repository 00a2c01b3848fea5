"""Parameters while the robot moves: a filter that starts 30 % wrong and never leaves what is physically possible.

The same on the command line: dynid track result/model.json log.csv --from-wrong 0.3
"""

import numpy as np

from dynid import Motion, TorqueModel, base_parameters, load_robot
from dynid.simulation import smooth_motion
from dynid.tracking import Consistent, ConstrainedFilter, ProcessNoise, StateMap, health, samples_of_motion

robot = load_robot("spatial2r")
model = TorqueModel(robot)
base = base_parameters(model)
truth = model.nominal()
wrong = 1.3 * truth

rng = np.random.default_rng(0)
motion: Motion = smooth_motion(robot, rng, kind="fourier", duration=20.0, rate_hz=200.0)
tau = model.torque(motion, truth)
noise = 0.02 * np.max(np.abs(tau), axis=0)
measured = tau + noise * rng.standard_normal(tau.shape)

filter_ = ConstrainedFilter(
    model=model,
    state=StateMap.of(model, wrong, [Consistent(link) for link in robot.link_names]),
    noise=noise,
    process_noise=ProcessNoise(start=0.0),
    initial_std=0.3,
)
tracker = filter_.start()
target = base.project(truth)
print("   t / s   error of torque / %   error of coefficients / %")
for number, sample in enumerate(samples_of_motion(motion, tau=measured)):
    tracker.step(sample)
    if number in (0, 20, 100, 400, 1000, 2000, motion.n_samples - 1):
        torque = model.torque(motion, tracker.theta)
        error = 100.0 * np.linalg.norm(torque - tau) / np.linalg.norm(tau)
        off = 100.0 * np.linalg.norm(base.project(tracker.theta) - target) / np.linalg.norm(target)
        print(f"{sample.t:8.2f} {error:21.2f} {off:27.2f}")

state = health(tracker)
print(
    f"\nNIS {state.nis_mean:.2f}: a healthy filter stays between {state.nis_band[0]:.2f} and {state.nis_band[1]:.2f}."
)
print("Torque is right within a second; what it cannot tell apart keeps some of its error:")
for symbol, now, start, true in list(zip(model.symbols, tracker.theta, wrong, truth, strict=True))[:4]:
    print(f"  {symbol:5} {now:8.4f}   started at {start:8.4f}   truth {true:8.4f}")
