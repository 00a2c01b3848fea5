"""Watch an arm pick up a weight: a page on this machine, here fed by a replay that closes it at the end.

The same on the command line, until Ctrl-C: dynid live result/model.json udp:5005
"""

import numpy as np

import dynid
from dynid.chain import InertialParameters
from dynid.writers import LivePage

robot = dynid.load_robot("panda")
train, run = (dynid.simulate(robot, duration=8.0, rate=200.0, noise_tau="1%", seed=seed) for seed in (1, 2))
model = dynid.identify(robot, train.recording, friction="viscous+coulomb+offset", force=True).model

# The hand holds nothing, and from the fourth second on two kilograms.
weight = InertialParameters.from_com(2.0, (0.0, 0.0, 0.15), np.diag([0.01, 0.01, 0.008]))
log = run.recording
dq = np.gradient(log.q, log.t, axis=0)
motion = dynid.Motion(log.t, log.q, dq, np.gradient(dq, log.t, axis=0))
torque = run.model.regressor(motion)[:, :, 60:70] @ weight.pi * (log.t > 4.0)[:, None]
picked = dynid.Recording(robot.joint_names, log.t, log.q, dq=dq, tau=np.asarray(log.tau) + torque)


def ready(page: LivePage) -> bool:
    """Say where the page is; close it once the replay is over."""
    if page.n_updates < 3:
        print("open", page.address)
    return page.run.view.state == "ended"


session = dynid.live(model, picked, speed=4.0, port=0, ready=ready)
for event in session.events:
    print(f"{event.t:6.2f} s   {event.kind:<12} {event.mass:5.2f} kg")
load = session.run.load
assert load is not None
print(f"at the end {load.mass:.2f} ± {load.mass_std:.2f} kg, truth {weight.mass:.2f} kg")
print(f"kept {session.log.n_samples} samples, which identify reads: {session.log.duration:.1f} s")
print(f"source: {session.run.counts}")
print("dynid.save(session, folder) writes model.json, log.csv, report.html and events.json")
