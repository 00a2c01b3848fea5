"""Sources of samples: replay, datagrams on loopback, iterators."""

import json
import socket
import threading
import time

import numpy as np
import pytest

from dynid.errors import TrackingError
from dynid.recording import Recording
from dynid.tracking import replay, samples_of, samples_of_motion, udp_samples
from tests.tracking.wam import MODEL, exciting


def recording(n_samples=20, rate_hz=100.0):
    motion = exciting(rate_hz, n_samples / rate_hz)
    return Recording(MODEL.robot.joint_names, motion.t, motion.q, tau=2.0 * motion.q)


def test_a_replay_has_every_sample_and_none_for_what_was_not_logged():
    log = recording()
    samples = list(replay(log))
    np.testing.assert_array_equal([s.q for s in samples], log.q)
    np.testing.assert_array_equal([s.tau for s in samples], log.tau)
    assert samples[0].dq is None
    assert samples[0].base_wrench is None


def test_a_replay_in_real_time_takes_its_time():
    started = time.monotonic()
    list(replay(recording(21), speed=1.0))
    assert time.monotonic() - started >= 0.2


def test_a_replay_needs_a_speed_above_zero():
    with pytest.raises(TrackingError, match="choose a speed above zero"):
        next(replay(recording(), speed=0.0))


def test_samples_of_a_motion_carry_motion_and_torque():
    motion = exciting(100.0, 0.1)
    samples = list(samples_of_motion(motion, motion.q))
    np.testing.assert_array_equal([s.ddq for s in samples], motion.ddq)


def test_an_iterator_of_mappings_becomes_samples():
    items = [{"t": 0.5, "q": [1, 2], "tau": [3.0, None], "base_wrench": [0, 0, 1, 0, 0, 0]}]
    (sample,) = samples_of(items, 2)
    assert sample.t == 0.5
    np.testing.assert_array_equal(sample.q, [1.0, 2.0])
    assert np.isnan(sample.tau[1])
    assert sample.base_wrench[2] == 1.0


@pytest.mark.parametrize(
    ("item", "message"),
    [
        ({"q": [1, 2]}, "item 0: no t; a sample needs both"),
        ({"t": 0.0, "q": None}, "item 0: no q"),
        ({"t": "late", "q": [1, 2]}, "item 0: t is 'late', not a number in s"),
        ({"t": 0.0, "q": [1, 2, 3]}, r"item 0: q has shape \(3,\), not \(2,\)"),
        ({"t": 0.0, "q": ["a", "b"]}, "item 0: q is not a list of numbers"),
    ],
)
def test_items_that_are_no_samples_are_refused(item, message):
    with pytest.raises(TrackingError, match=message):
        list(samples_of([item], 2))


def sender(address, datagrams):
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as out:
        for datagram in datagrams:
            out.sendto(datagram, address)


@pytest.fixture
def listening():
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as ready:
        ready.bind(("127.0.0.1", 0))
        yield ready


def test_datagrams_on_loopback_become_samples_until_the_end(listening):
    datagrams = [json.dumps({"t": 0.01 * k, "q": [k, 1], "tau": [0, 0]}).encode() for k in range(5)]
    sending = threading.Thread(target=sender, args=(listening.getsockname(), [*datagrams, b'{"end": true}']))
    sending.start()
    samples = list(udp_samples(0, 2, ready=listening))
    sending.join(timeout=60.0)
    assert [sample.q[0] for sample in samples] == [0, 1, 2, 3, 4]


def test_silence_ends_the_stream_and_the_default_address_is_this_machine(listening):
    assert list(udp_samples(0, 2, timeout=0.05)) == []
    port = listening.getsockname()[1]
    with pytest.raises(TrackingError, match=rf"udp 127.0.0.1:{port}: cannot listen"):
        next(udp_samples(port, 2))


@pytest.mark.parametrize(
    ("datagram", "message"), [(b"\xff", "datagram 0: not JSON"), (b"[1]", "datagram 0: not an object")]
)
def test_datagrams_that_are_no_samples_are_refused(listening, datagram, message):
    sender(listening.getsockname(), [datagram])
    with pytest.raises(TrackingError, match=message):
        next(udp_samples(0, 2, ready=listening))
