"""The arm in motion: frames that follow the robot, of a sane size, with floor and boxes."""

import base64
import json
from typing import Any

import numpy as np
import pytest

from dynid.chain import load_robot
from dynid.excitation import KeepOut, MotionLimits, Surroundings, capsules_of, clearance_limit, random_fourier
from dynid.excitation.limits.workspace import link_origins
from dynid.writers.report.animation import _capsule_mesh, moving_arm
from tests.browser import browser, chromium
from tests.robots import random_robot


def unpacked(trace: Any) -> np.ndarray:
    return np.column_stack([np.frombuffer(base64.b64decode(trace[name]["bdata"]), "<f4") for name in "xyz"])


def motion(robot):
    trajectory = random_fourier(robot, seed=1).trajectory
    t = np.linspace(0.0, trajectory.duration, 1500)
    return t, trajectory.at(t).q


def test_every_frame_is_the_arm_at_its_time():
    robot = load_robot("panda")
    t, q = motion(robot)
    limits = MotionLimits.of(robot)
    box = KeepOut(np.array([0.5, 0.5, 0.0]), np.array([0.6, 0.6, 0.5]))
    clear = clearance_limit(robot, capsules_of(robot), Surroundings(keep_out=(box,)), limits)
    figure = moving_arm(robot, t, q, clear=clear)
    assert 24 <= len(figure.frames) <= 120
    names = [trace.get("name") for trace in figure.data]
    assert names[:2] == ["floor", "keep-out box"]
    origins = link_origins(robot, q)
    for k in (0, len(figure.frames) // 2, len(figure.frames) - 1):
        frame: Any = figure.frames[k]
        vertices = np.concatenate([unpacked(part) for part in frame["data"]])
        now = np.array([np.interp(t[-1] * k / (len(figure.frames) - 1), t, x) for x in origins.reshape(len(t), -1).T])
        # Every joint lies inside the skin of a link: no farther from it than the radius of the links.
        for origin in now.reshape(-1, 3):
            assert np.linalg.norm(vertices - origin, axis=1).min() < 0.075
    assert figure.flat is not None
    assert len(figure.flat.frames) == len(figure.frames)
    assert len(figure.as_json()) + len(figure.flat.as_json()) < 1_000_000


@pytest.mark.parametrize("n_dof", [1, 12])
def test_any_robot_is_drawn_in_a_sane_size(n_dof):
    robot = random_robot(np.random.default_rng(n_dof), n_dof)
    t = np.linspace(0.0, 200.0, 50)
    figure = moving_arm(robot, t, np.sin(np.outer(t, np.arange(1.0, n_dof + 1.0))))
    assert len(figure.frames) == 120
    assert len(figure.as_json()) < 1_200_000
    layout: Any = json.loads(figure.as_json())["layout"]
    assert len(layout["sliders"][0]["steps"]) == 120


def test_the_skin_of_a_capsule_is_closed_and_lies_on_it():
    start, stop = np.array([0.1, 0.2, 0.3]), np.array([0.5, -0.2, 0.4])
    vertices, faces = _capsule_mesh(start, stop, 0.07, 8, 2)
    way = stop - start
    share = np.clip((vertices - start) @ way / (way @ way), 0.0, 1.0)
    np.testing.assert_allclose(np.linalg.norm(vertices - start - share[:, None] * way, axis=1), 0.07)
    edges = np.sort(np.concatenate([faces[:, [0, 1]], faces[:, [1, 2]], faces[:, [2, 0]]]), axis=1)
    assert np.all(np.unique(edges, axis=0, return_counts=True)[1] == 2)


@pytest.mark.skipif(chromium() is None, reason="no Chromium here: install the system's package chromium")
@pytest.mark.parametrize("webgl", [True, False])
def test_the_arm_plays_and_is_scrubbed_in_a_browser(tmp_path, webgl):
    from dynid.writers import Report
    from dynid.writers.report import Section

    robot = load_robot("spatial2r")
    t, q = motion(robot)
    report = Report("Arm", "It moves.", (Section("Arm", figures=(moving_arm(robot, t, q),)),))
    report.write(tmp_path / "arm.html")
    chart = "document.querySelector('.chart')"
    first = (
        f"Array.from({chart}.data[{chart}.data.length - 1].x._inputArray || {chart}._fullData.slice(-1)[0].x).join()"
    )
    with browser(tmp_path, webgl=webgl) as page:
        page.open(tmp_path / "arm.html")
        assert page.run(f"{chart}._transitionData._frames.length") >= 24
        assert page.run("document.querySelectorAll('.updatemenu-button').length") == 2
        before = page.run(first)
        options = "{mode: 'immediate', frame: {duration: 0, redraw: true}, transition: {duration: 0}}"
        page.run(f"Plotly.animate({chart}, ['20'], {options}).then(function () {{ return 1; }})")
        assert page.run(first) != before
        page.run("document.querySelector('.updatemenu-button').dispatchEvent(new MouseEvent('click', {bubbles: true}))")
        page.wait(f"{chart}.layout.sliders[0].active > 20")
        assert page.complaints == []
        assert [url for url in page.requests if not url.startswith(("file:", "data:", "blob:"))] == []
