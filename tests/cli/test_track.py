"""``dynid track``: replay, live datagrams, loads, JSON a line, files, and what it refuses."""

import json
import socket
import threading

import numpy as np
import pytest

from dynid.chain import load_robot
from dynid.cli import app, main
from dynid.dynamics import Motion, TorqueModel, base_parameters, friction_models
from dynid.recording import Recording, write_csv
from dynid.regression import IdentifiedModel, load_model, save_model

ROBOT = load_robot("planar2r")
MODEL = TorqueModel(ROBOT, friction_models("viscous+coulomb+offset"))
BASE = base_parameters(MODEL)
THETA = MODEL.nominal() + np.where(np.arange(MODEL.n_params) >= 20, 0.1, 0.0)


def recording(*, scale=1.0, wrench=True, velocity=True):
    rng = np.random.default_rng(0)
    t = 0.005 * np.arange(1600)
    q, dq, ddq = np.zeros((len(t), 2)), np.zeros((len(t), 2)), np.zeros((len(t), 2))
    for k in range(1, 4):
        omega, phase = 2.0 * np.pi * 0.3 * k, rng.uniform(0.0, 6.0, 2)
        angle = omega * t[:, None] + phase
        q += 0.7 / k * np.sin(angle)
        dq += 0.7 / k * omega * np.cos(angle)
        ddq -= 0.7 / k * omega**2 * np.sin(angle)
    motion = Motion(t, q, dq, ddq)
    tau = MODEL.torque(motion, THETA) + 0.01 * rng.standard_normal(q.shape)
    return Recording(
        ROBOT.joint_names,
        t,
        q,
        dq=dq if velocity else None,
        tau=scale * tau,
        base_wrench=MODEL.base_wrench(motion, THETA) if wrench else None,
    )


@pytest.fixture
def model_file(tmp_path):
    path = tmp_path / "model.json"
    model = IdentifiedModel(
        MODEL, BASE, "feasible", "", BASE.project(THETA), np.eye(BASE.n_base), theta=THETA, labels=()
    )
    save_model(model, path)
    return path


@pytest.fixture
def log(tmp_path):
    path = tmp_path / "log.csv"
    write_csv(recording(), path)
    return path


def lines(capsys):
    return [json.loads(line) for line in capsys.readouterr().out.splitlines()]


@pytest.mark.parametrize("measure", ["torque", "both"])
def test_a_wrong_start_ends_near_the_truth_with_model_and_report(model_file, log, tmp_path, capsys, measure):
    out = tmp_path / "tracked"
    arguments = ["track", str(model_file), str(log), "--from-wrong", "0.2", "--measure", measure, "--out", str(out)]
    assert main([*arguments, "--json"]) == 0
    *instants, summary = lines(capsys)
    assert len(instants) > 50
    assert {"t", "nis", "parameters", "std"} <= set(instants[0])
    assert summary["n_absorbed"] > 1500
    assert summary["files"] == {"model": str(out / "model.json"), "report": str(out / "report.html")}
    tracked = load_model(out / "model.json")
    assert tracked.estimator == "track"
    np.testing.assert_allclose(tracked.beta, BASE.project(THETA), atol=0.05 * np.max(np.abs(tracked.beta)))
    assert "2σ bands" in (out / "report.html").read_text(encoding="utf-8")


def test_links_stay_possible_and_text_is_for_people(model_file, log, tmp_path, capsys):
    out = tmp_path / "tracked"
    assert main(["track", str(model_file), str(log), "--states", "links", "--out", str(out)]) == 0
    captured = capsys.readouterr()
    assert "absorbed" in captured.out
    assert "wrote" in captured.out
    assert "\x1b" not in captured.out
    assert load_model(out / "model.json").consistent


def test_positions_and_torques_alone_are_enough(model_file, tmp_path, capsys):
    path = tmp_path / "positions.csv"
    write_csv(recording(velocity=False, wrench=False), path)
    assert main(["track", str(model_file), str(path), "--from-wrong", "0.2", "--json"]) == 0
    summary = lines(capsys)[-1]
    values = {entry["label"]: entry["value"] for entry in summary["parameters"]}
    assert values["mc2x"] == pytest.approx(THETA[11], rel=0.1)


def test_a_load_is_followed_and_printed_for_controllers(model_file, log, capsys):
    assert main(["track", str(model_file), str(log), "--payload", "--json"]) == 0
    summary = lines(capsys)[-1]
    assert abs(summary["payload"]["mass"]) < 0.2
    assert "set_target_payload" in summary["payload"]["settings"]["Universal Robots"]
    assert main(["track", str(model_file), str(log), "--payload"]) == 0
    assert "Franka: setLoad(" in capsys.readouterr().out


def test_a_checkpoint_is_written_and_taken_up(model_file, log, tmp_path, capsys):
    path = tmp_path / "filter.npz"
    arguments = ["track", str(model_file), str(log), "--checkpoint", str(path), "--json"]
    assert main([*arguments, "--until", "4"]) == 0
    first = lines(capsys)[-1]["n_absorbed"]
    assert main([*arguments, "--from", "4"]) == 0
    # The noise guess comes from the log, so the two filters differ unless their torques have the same peak.
    assert lines(capsys)[-1]["n_absorbed"] > first


@pytest.mark.parametrize("arguments", [["track", "m.json", "-", "--payload"], ["live", "m.json", "--port", "0", "-"]])
def test_a_dash_is_the_standard_input(arguments):
    _, bound, _ = app.parse_args(arguments, exit_on_error=False, print_error=False)
    assert [str(value) for value in bound.args[:2]] == ["m.json", "-"]


def test_datagrams_are_followed_live(model_file, capsys):
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    data = recording()
    ended = threading.Event()

    def listens() -> bool:
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
            try:
                probe.bind(("127.0.0.1", port))
            except OSError:
                return True
            return False

    def send():
        while not listens() and not ended.wait(0.05):
            pass
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as out:
            # Few enough for the system to hold them all while the kernels compile.
            for k in range(120):
                item = {"t": data.t[k], "q": data.q[k].tolist(), "dq": data.dq[k].tolist(), "tau": data.tau[k].tolist()}
                out.sendto(json.dumps(item).encode(), ("127.0.0.1", port))
            while not ended.wait(0.2):
                out.sendto(b'{"end": true}', ("127.0.0.1", port))

    sending = threading.Thread(target=send)
    sending.start()
    code = main(["track", str(model_file), f"udp:{port}", "--rate", "200", "--json"])
    ended.set()
    sending.join(timeout=60.0)
    assert code == 0
    assert lines(capsys)[-1]["n_absorbed"] >= 70


@pytest.mark.parametrize(
    ("extra", "message"),
    [
        (["--from-wrong", "1.5"], "give a share between 0 and 1"),
        (["--payload", "--measure", "base-wrench"], "tells loads and contacts apart by joint torques"),
        (["--speed", "0"], "choose a speed above zero"),
    ],
)
def test_options_that_make_no_sense_are_refused(model_file, log, capsys, extra, message):
    assert main(["track", str(model_file), str(log), *extra]) == 2
    assert message in capsys.readouterr().err


def test_a_missing_wrench_a_wrong_unit_and_a_wrong_port_are_refused(model_file, tmp_path, capsys):
    path = tmp_path / "plain.csv"
    write_csv(recording(wrench=False), path)
    assert main(["track", str(model_file), str(path), "--measure", "both"]) == 2
    assert "no base wrench columns fx fy fz mx my mz" in capsys.readouterr().err
    write_csv(recording(wrench=False, scale=1000.0), path)
    assert main(["track", str(model_file), str(path)]) == 2
    assert "times what the model predicts" in capsys.readouterr().err
    assert main(["track", str(model_file), "udp:here"]) == 2
    assert "the port is not a number" in capsys.readouterr().err
