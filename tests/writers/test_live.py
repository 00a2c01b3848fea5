"""The live page: a run without a page, what is drawn, who may see it, and the page itself in a real browser."""

import html
import json
import socket
import threading
import time
from dataclasses import replace

import numpy as np
import pytest

import dynid
from dynid.chain import load_robot
from dynid.errors import ConfigError, DynidError, TrackingError
from dynid.tracking import LoadEstimate, SampleIntake, TrackingOptions, pack_message, replay
from dynid.tracking.sources.intake import SILENCE
from dynid.tracking.sources.messages import StreamMessages
from dynid.tracking.sources.udp import UdpFeed
from dynid.workflow.live_buffers import ChartLines, LatestSamples
from dynid.workflow.live_run import VIEWS_PER_SECOND, LiveRun
from dynid.workflow.live_torque import live_contact
from dynid.workflow.live_view import LiveContact, LiveEvent
from dynid.writers.live.guard import PageGuard
from dynid.writers.live.meshes import robot_meshes
from dynid.writers.live.panel import contact_html, events_html, health_html, mass_html
from dynid.writers.live.server import PageServer
from dynid.writers.live.shapes import arm_capsules, contact_arrow, link_poses, load_shape
from tests.browser import browser, chromium
from tests.writers.live_logs import RATE, known_panda, picking

PANDA = load_robot("panda")


@pytest.fixture(scope="module")
def known():
    return known_panda()


@pytest.fixture(scope="module")
def log():
    return picking()


def waited(truth, seconds=120.0):
    until = time.monotonic() + seconds
    while not truth():
        assert time.monotonic() < until, "never came true"
        time.sleep(0.02)


def followed(known, intake, **options):
    run = LiveRun(known, intake, TrackingOptions(payload=True, rate=RATE), **options)
    run.start()
    return run


def kinds(run):
    return [event.kind for event in run.events()]


# The run


def test_a_run_follows_a_replay_and_keeps_what_it_saw(known, log):
    run = followed(known, SampleIntake.of_log(log), measured_rate=False)
    waited(lambda: not run.running and run.view.state == "ended")
    run.stop()
    view = run.view
    assert "pick" in kinds(run)
    assert view.load.mass == pytest.approx(2.0, abs=0.2)
    assert view.counts.n_samples == log.n_samples
    kept = run.recording()
    np.testing.assert_array_equal(kept.q, log.q)
    np.testing.assert_array_equal(kept.tau, log.tau)
    measured, predicted = view.torque[:, 1:8], view.torque[:, 8:15]
    late = view.torque[:, 0] > 5.0
    assert np.median(np.abs(measured - predicted)[late]) < 1.0
    assert view.health.startswith("replay has ended after 2000 samples")


def test_tare_makes_the_load_part_of_the_arm_and_reset_forgets_it(known, log):
    run = followed(known, SampleIntake.of_log(log, speed=4.0), measured_rate=False)
    waited(lambda: "pick" in kinds(run))
    waited(lambda: run.view.t > 4.5)
    run.mark("look here")
    run.tare()
    waited(lambda: any(kind.startswith("tare") for kind in kinds(run)))
    waited(lambda: run.view.state == "ended")
    run.stop()
    assert "look here" in kinds(run)
    mass = run.known.theta[60] - known.theta[60]
    assert mass == pytest.approx(2.0, abs=0.25)
    assert run.view.load.mass < 0.5
    np.testing.assert_allclose(run.known.beta, known.base.project(run.known.theta), atol=1e-12)


def test_a_source_that_stops_and_starts_again_is_followed_and_garbage_is_survived(known, log):

    feed = UdpFeed(0, StreamMessages(7), patient=True)
    intake = SampleIntake(feed)
    run = followed(known, intake)
    samples = list(replay(log.part(None, 1.5)))
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as out:
        address = ("127.0.0.1", feed.port)

        def send():
            for k, sample in enumerate(samples):
                out.sendto(pack_message(sample, number=k), address)
                out.sendto(b"<script>alert(1)</script>", address)
                time.sleep(0.5 / RATE)

        for cycle in (1, 2):
            sender = threading.Thread(target=send)
            sender.start()
            waited(lambda: run.view.state == "flowing")
            sender.join(timeout=30.0)
            # Where the machine is busy, a run falls silent before it has read all that was sent.
            waited(lambda sent=cycle: run.view.counts.n_samples >= sent * len(samples))
            waited(lambda: run.view.state == "silent")
            assert "silent" in run.view.health
            assert run.view.counts.n_jumps == cycle - 1
        counts = run.view.counts
    run.stop()
    assert counts.n_garbage == 2 * len(samples)
    assert counts.n_lost == 0
    assert counts.n_samples == 2 * len(samples)
    assert run.options.rate == pytest.approx(RATE, rel=0.2)
    assert SILENCE + 1.0 / VIEWS_PER_SECOND < 1.0  # a source that stops is shown within a second


def test_memory_of_a_run_is_bounded():
    kept = LatestSamples(("a", "b"), 5000)
    sample = next(iter(replay(picking(0.1)))) ._replace(q=np.zeros(2), dq=None, tau=np.ones(2))  # fmt: skip
    for k in range(12_000):
        kept.add(sample._replace(t=float(k)))
    assert len(kept) == 5000
    recording = kept.recording(since=11_000.0)
    np.testing.assert_array_equal(recording.t, np.arange(11_000.0, 12_000.0))
    assert recording.dq is None
    lines = ChartLines(10, 2)
    for k in range(25):
        lines.add(float(k), np.array([k, 2.0 * k]))
    np.testing.assert_array_equal(lines.rows()[:, 2], 2.0 * np.arange(15, 25))


# What is drawn


def test_capsules_reach_from_joint_to_joint():
    capsules = arm_capsules(PANDA)
    poses = link_poses(PANDA, np.zeros(7))
    for capsule in capsules:
        if 0 <= capsule.link < 6:
            end = poses[capsule.link][:3, :3] @ capsule.end + poses[capsule.link][:3, 3]
            child = PANDA.joints[capsule.link + 1].T_parent_joint[:3, 3]
            np.testing.assert_allclose(end, poses[capsule.link][:3, :3] @ child + poses[capsule.link][:3, 3])
    assert all(0.005 < capsule.radius < 0.1 for capsule in capsules)


def test_the_ellipsoid_of_a_load_has_its_inertia():
    a, b, c, m = 0.05, 0.1, 0.15, 2.0
    inertia = m / 5.0 * np.diag([b**2 + c**2, a**2 + c**2, a**2 + b**2])
    shape = load_shape(LoadEstimate(m, 0.01, np.array([0.0, 0.0, 0.1]), inertia))
    assert shape is not None
    np.testing.assert_allclose(np.sort(shape.halves), [a, b, c], rtol=1e-9)
    assert load_shape(LoadEstimate(0.01, 0.2, np.zeros(3), np.zeros((3, 3)))) is None


def test_the_arrow_of_a_contact_points_along_the_push_and_ends_on_the_link():
    q = np.array([0.0, 0.4, 0.0, -1.5, 0.0, 1.8, 0.5])
    force, step = np.array([5.0, 30.0, -10.0]), 1e-6
    # The far end of link 5 is the origin of joint 6, which joint 6 does not move.
    point = link_poses(PANDA, q)[5][:3, 3]
    J = np.stack([(link_poses(PANDA, q + step * e)[5][:3, 3] - point) / step for e in np.eye(7)], axis=1)
    contact = live_contact(PANDA, q, PANDA.link_names[4], J.T @ force)
    assert contact is not None
    np.testing.assert_allclose(contact.force, force, rtol=1e-4)  # of the finite differences
    arrow = contact_arrow(PANDA, q, contact)
    assert arrow is not None
    np.testing.assert_allclose(arrow[1], point, atol=1e-9)
    np.testing.assert_allclose(100.0 * (arrow[1] - arrow[0]), force, rtol=1e-4)
    assert contact_arrow(PANDA, q, replace(contact, force=np.full(3, 0.5))) is None
    strong = contact_arrow(PANDA, q, replace(contact, force=100.0 * force))
    assert strong is not None
    assert np.linalg.norm(strong[1] - strong[0]) == pytest.approx(0.8)
    assert live_contact(PANDA, q, "nothing of this arm", J.T @ force) is None


def test_meshes_beside_the_robot_file_are_read_and_none_elsewhere(tmp_path):
    triangle = np.zeros((1,), np.dtype([("n", "<f4", 3), ("c", "<f4", (3, 3)), ("a", "<u2")]))
    triangle["c"][0] = [[0, 0, 0], [1, 0, 0], [0, 1, 0]]
    stl = b"\0" * 80 + np.uint32(1).tobytes() + triangle.tobytes()
    folder = tmp_path / "arm" / "urdf"
    folder.mkdir(parents=True)
    (tmp_path / "arm" / "a.stl").write_bytes(stl)
    visual = '<visual><origin xyz="0 0 1"/><geometry><mesh filename="{}" scale="2 2 2"/></geometry></visual>'
    text = """<robot name="r"><link name="base"/><link name="one">{}</link><joint name="j" type="revolute">
    <parent link="base"/><child link="one"/><axis xyz="0 0 1"/><limit effort="1" velocity="1"/></joint></robot>"""
    for name, count in (("package://arm/a.stl", 1), ("../../../etc/passwd.stl", 0), ("nothing.stl", 0)):
        path = folder / "r.urdf"
        path.write_text(text.format(visual.format(name)))
        meshes = robot_meshes(load_robot(str(path)), path)
        assert len(meshes) == count
    np.testing.assert_allclose(robot_meshes_of(folder, text, visual)[0].triangles[0, 1], [2.0, 0.0, 1.0])


def robot_meshes_of(folder, text, visual):
    path = folder / "r.urdf"
    path.write_text(text.format(visual.format("package://arm/a.stl")))
    return robot_meshes(load_robot(str(path)), path)


def test_texts_of_a_source_are_never_markup(known, log):
    run = LiveRun(known, SampleIntake.of_log(log), TrackingOptions(payload=True))
    evil = "<script>alert('x')</script>"
    touched = LiveContact(0, evil, np.array([0.0, 0.0, 30.0]))
    view = replace(run.view, health=evil, contact=touched, events=(LiveEvent(1.0, evil, 2.0, evil),))
    assert "<script" not in health_html(view) + events_html(view) + mass_html(view) + contact_html(view)
    assert "30 N" in contact_html(view)
    assert "&lt;script&gt;" in health_html(view)


@pytest.mark.parametrize(
    ("said", "shown"),
    [
        ("/data/someone/my_logs/run.csv: no joint q7", "run.csv: no joint q7"),
        (r"cannot read '/srv/a/b.csv' or C:\data\arm\x.csv", "cannot read 'b.csv' or x.csv"),
        ("2.0 kg at 10 N·m/A, and/or 3/4", "2.0 kg at 10 N·m/A, and/or 3/4"),
    ],
)
def test_no_folder_of_this_machine_reaches_the_page(known, log, said, shown):
    run = LiveRun(known, SampleIntake.of_log(log), TrackingOptions(payload=True))
    assert html.unescape(health_html(replace(run.view, health=said))).endswith(f"{shown}</div>")


# Who may see it


@pytest.mark.parametrize(
    ("path", "headers", "refused"),
    [
        ("/", {"host": "127.0.0.1:80"}, None),
        ("/", {"host": "localhost:80", "origin": "http://localhost:80"}, None),
        ("/", {"host": "evil.example:80"}, "another host"),
        ("/", {"host": "127.0.0.1:81"}, "another host"),
        ("/", {}, "another host"),
        ("/", {"host": "127.0.0.1:80", "origin": "http://evil.example"}, "another origin"),
        ("/", {"host": "127.0.0.1:80", "origin": "null"}, "another origin"),
        ("/" + "a" * 3000, {"host": "127.0.0.1:80"}, "a header that is too long"),
    ],
)
def test_only_this_machine_by_its_own_names_may_ask(path, headers, refused):
    guard = PageGuard("127.0.0.1", None)
    guard.port = 80
    assert guard.refusal(path, headers) == refused


def test_another_host_needs_the_token_by_address_or_cookie():
    guard = PageGuard("0.0.0.0", "secret-token")
    guard.port = 80
    host = {"host": "robot.local:80"}
    assert guard.refusal("/", host) == "no token"
    assert guard.refusal("/?token=wrong", host) == "no token"
    assert guard.refusal("/?token=secret-token", host) is None
    assert guard.refusal("/", {**host, "cookie": "dynid_token=secret-token"}) is None
    assert guard.refusal("/", {**host, "cookie": "dynid_token=é; x"}) == "no token"
    with pytest.raises(ConfigError, match="shorter than 8"):
        dynid.live(known_panda(), picking(0.5), token="x")


# The page


def asked(port, request):
    with socket.create_connection(("127.0.0.1", port), timeout=10.0) as link:
        link.sendall(request.encode())
        return link.recv(4096).decode(errors="replace")


@pytest.mark.skipif(chromium() is None, reason="no Chromium")
@pytest.mark.slow
def test_the_page_shows_a_replay_in_a_browser_and_its_buttons_work(known, log, tmp_path):
    pytest.importorskip("viser")
    from dynid.writers import open_live

    page = open_live(known, log, speed=1.0, out=tmp_path / "saved", port=0)
    try:
        with browser(tmp_path) as tab:
            tab.size(1400, 1400)
            tab.call("Page.navigate", url=page.address)
            tab.wait("document.querySelector('#dynid-mass') !== null")
            tab.wait("document.querySelector('canvas') !== null")
            tab.wait("document.querySelector('#dynid-events').innerText.includes('pick')")
            tab.wait("Math.abs(parseFloat(document.querySelector('#dynid-mass').innerText) - 2) < 0.3")
            click(tab, "Mark")
            tab.wait("document.querySelector('#dynid-events').innerText.includes('mark')")
            click(tab, "Save")
            tab.wait("document.querySelector('#dynid-notice')?.innerText.includes('Saved 001')")
            click(tab, "Tare")
            tab.wait("document.querySelector('#dynid-events').innerText.includes('tare')")
            text = tab.run("document.documentElement.innerText")
            hosts = {url.split("/")[2] for url in tab.requests if url.startswith(("http", "ws"))}
            errors = [c for c in tab.complaints if "deprecated" not in c and "favicon" not in c]
        assert hosts == {f"127.0.0.1:{page.port}"}
        assert errors == []
        assert str(tmp_path) not in text
        assert "share" not in text.lower()
        saved = tmp_path / "saved" / "001"
        assert sorted(path.name for path in saved.iterdir()) == ["events.json", "log.csv", "model.json", "report.html"]
        assert "pick" in [event["kind"] for event in json.loads((saved / "events.json").read_text())]
        again = dynid.read_recording(saved / "log.csv", PANDA.joint_names)
        assert again.n_samples > 500
        ok = f"GET / HTTP/1.1\r\nHost: 127.0.0.1:{page.port}\r\n\r\n"
        assert asked(page.port, ok).startswith("HTTP/1.1 200")
        assert asked(page.port, ok.replace("127.0.0.1", "evil.example")).startswith("HTTP/1.1 403")
        assert asked(page.port, ok[:-2] + "Origin: http://evil.example\r\n\r\n").startswith("HTTP/1.1 403")
        assert asked(page.port, ok.replace("GET /", "GET /../../etc/passwd")).startswith("HTTP/1.1 404")
    finally:
        page.stop()
        page.run.stop()


def test_the_share_button_of_viser_and_the_message_behind_it_are_off(known, log, tmp_path):
    pytest.importorskip("viser")
    import viser._messages as messages

    run = LiveRun(known, SampleIntake.of_log(log), TrackingOptions(payload=True))
    page = PageServer(run, PANDA, guard=PageGuard("127.0.0.1", None), port=0, meshes=[], out=tmp_path)
    try:
        # What the button sends opens no tunnel, whoever sends it.
        assert messages.ShareUrlRequest not in page.server._websock_server._incoming_handlers
    finally:
        page.stop()


def click(tab, name):
    buttons = "[...document.querySelectorAll('button')]"
    tab.run(f"{buttons}.find(b => b.innerText.trim() === '{name}').click()")


@pytest.mark.slow
def test_what_was_recorded_is_identified_in_the_background(known):
    from dynid.writers.live.background import BackgroundIdentification

    heard: list[str] = []
    job = BackgroundIdentification(heard.append)
    assert job.start(known, picking(6.0, at=100.0))
    assert not job.start(known, picking(6.0, at=100.0))
    waited(lambda: bool(heard), 120.0)
    assert heard[0] in ("good", "usable", "not good enough", "refused")
    assert job.status.startswith(f"Identified: {heard[0]}. ")
    assert len(job.status) > 40


@pytest.mark.slow
def test_hanging_a_weight_gives_the_gains_and_their_covariance_to_the_model(known):
    from dynid.writers.live.calibration import WeightCalibration

    truth = np.array([12.0, 11.0, 10.0, 9.0, 8.0, 7.0, 6.0])
    said = truth * np.array([1.05, 0.96, 1.03, 0.98, 1.02, 0.97, 1.04])
    known = replace(known, settings=replace(known.settings, gains=tuple(said.tolist())))
    log = picking(24.0, at=12.0)
    read = replace(log, tau=log.tau / truth * said)  # what currents give with the gains that the model has
    run = followed(known, SampleIntake.of_log(read, speed=8.0), measured_rate=False)
    calibration = WeightCalibration(run)
    waited(lambda: run.view.t > 0.5)
    calibration.empty()
    waited(lambda: run.view.t > 11.0)
    calibration._empty = None
    calibration.loaded()
    calibration._began = 12.5
    waited(lambda: run.view.state == "ended")
    model = calibration.done(2.0)
    run.stop()
    assert "N·m/A" in calibration.status
    found = np.array(model.settings.gains)
    np.testing.assert_allclose(found[1:6:2], truth[1:6:2], rtol=0.05)  # the joints that a weight at the flange loads
    covariance = np.array(model.settings.gain_covariance)
    assert covariance.shape == (7, 7)
    assert np.all(np.linalg.eigvalsh(covariance) > 0.0)
    assert model.settings.gain_source == "a weight of 2 kg"


def test_what_stands_before_and_after_a_motion_is_no_part_of_a_calibration():
    from dynid.writers.live.calibration import moving_part

    log = picking(4.0)
    still = np.arange(500) / RATE
    t = np.concatenate([still - 2.0, log.t, log.t[-1] + 1.0 / RATE + still])
    q = np.concatenate([np.tile(log.q[0], (500, 1)), log.q, np.tile(log.q[-1], (500, 1))])
    dq = np.concatenate([np.zeros((500, 7)), log.dq, np.zeros((500, 7))])
    for velocities in (dq, None):
        found = moving_part(dynid.Recording(log.joint_names, t, q, dq=velocities, tau=q))
        # Numerical velocities reach a sample further.
        assert log.t[0] - 2.0 / RATE <= found.t[0] <= found.t[-1] <= log.t[-1] + 2.0 / RATE
        assert found.duration > 3.9


def test_calibration_asks_for_its_steps_in_order(known, log):
    from dynid.writers.live.calibration import WeightCalibration

    run = followed(known, SampleIntake.of_log(log), measured_rate=False)
    waited(lambda: run.view.state == "ended")
    calibration = WeightCalibration(run)
    with pytest.raises(TrackingError, match="press Empty first"):
        calibration.loaded()
    calibration.empty()
    with pytest.raises(DynidError, match="s of motion without a load are too few"):
        calibration.loaded()
    with pytest.raises(TrackingError, match="press Empty and Loaded first"):
        calibration.done(2.0)
    run.stop()
