"""Live sources: what is a sample, what is counted, and what is picked up again."""

import json
import os
import random
import socket
import sqlite3
import struct
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dynid.chain import load_robot
from dynid.errors import TrackingError
from dynid.recording.log_settings import LogSettings
from dynid.recording.recording import Recording
from dynid.tracking import SampleIntake, open_stream, pack_message
from dynid.tracking.samples import Sample
from dynid.tracking.sources.counts import StreamOrder
from dynid.tracking.sources.feeds import MAX_LINE, LineFeed, LineSplitter, StreamFeed
from dynid.tracking.sources.mcap import MAX_RECORD, McapRecords
from dynid.tracking.sources.messages import StreamMessage, StreamMessages
from dynid.tracking.sources.replayed import TorqueDelay
from dynid.tracking.sources.udp import UdpFeed
from tests.fuzzing import mutators
from tests.fuzzing.mutators import WORDS

PLANAR = load_robot("planar2r")
NAMES = PLANAR.joint_names
MESSAGES = StreamMessages(2, NAMES)


def sample(t=0.5, q=(1.0, 2.0), **fields):
    return Sample(t, np.array(q), **{name: np.array(value) for name, value in fields.items()})


def same(a, b):
    for mine, yours in zip(a, b, strict=True):
        assert (mine is None) == (yours is None)
        if mine is not None:
            np.testing.assert_array_equal(mine, yours)


# Messages


@pytest.mark.parametrize(
    "fields", [{}, {"tau": (3.0, 4.0)}, {"dq": (1.0, 1.0), "tau": (3.0, 4.0), "base_wrench": (1, 2, 3, 4, 5, 6)}]
)
def test_a_binary_message_says_what_went_in_and_follows_the_documented_layout(fields):
    given = sample(**fields)
    data = pack_message(given, number=7)
    magic, n, bits, number, t = struct.unpack_from("<4sHHQd", data)
    assert (magic, n, number, t) == (b"DYN1", 2, 7, 0.5)
    assert bits == sum({"dq": 1, "tau": 2, "base_wrench": 16}[name] for name in fields)
    np.testing.assert_array_equal(np.frombuffer(data, "<f8", 2, offset=24), given.q)
    message = MESSAGES.of_bytes(data, "x")
    same(message.sample, given)
    assert message.number == 7
    assert MESSAGES.of_bytes(pack_message(given), "x").number is None


def test_a_message_that_names_its_joints_is_put_into_the_order_of_the_robot():
    item = {"t": 0.0, "names": ["gripper", NAMES[1], NAMES[0]], "q": [9, 2, 1], "tau": [9, 4, 3]}
    found = MESSAGES.of_object(item, "x").sample
    same(found, sample(0.0, tau=(3.0, 4.0)))
    prefixed = {**item, "names": ["gripper", f"left_{NAMES[1]}", f"left_{NAMES[0]}"]}
    same(MESSAGES.of_object(prefixed, "x").sample, found)
    with pytest.raises(TrackingError, match=f"x: no joint {NAMES[1]} among the names"):
        MESSAGES.of_object({"t": 0.0, "names": [NAMES[0]], "q": [1]}, "x")


def test_currents_become_torques_by_the_gains_of_the_model():
    item = {"t": 0.0, "q": [1, 2], "current": [1.0, 2.0]}
    found = StreamMessages(2, gains=np.array([10.0, 20.0])).of_object(item, "x")
    np.testing.assert_array_equal(found.sample.tau, [10.0, 40.0])
    with pytest.raises(TrackingError, match="motor currents and no torques; give the drive gains"):
        MESSAGES.of_object(item, "x")


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"DYN1", "4 bytes, shorter than the 24 of a binary header"),
        (pack_message(sample())[:-1], "39 bytes, not the 40 it announces"),
        (pack_message(sample(q=(1.0, 2.0, 3.0))), "3 joints, but the robot has 2"),
        (b"DYN1" + struct.pack("<HHQd", 2, 64, 0, 0.0), "bits that mean nothing"),
        (pack_message(sample(t=np.nan)), "t is nan, not a time in s"),
        (pack_message(sample(q=(1e300, 0.0))), "q holds a number beyond 1e.07"),
        (b'{"t": 0, "q": [1, ' + b"9" * 500 + b"]}", "q (is not a list of numbers|holds a number)"),
        (b"[" * 60000, "not JSON"),
        (b'{"t": 0, "q": [1, 2], "names": "ab"}', "names is not a list of joint names"),
    ],
)
def test_garbage_is_refused_with_the_reason(data, message):
    with pytest.raises(TrackingError, match=message):
        MESSAGES.of_bytes(data, "x")


def test_a_hundred_thousand_garbage_datagrams_are_refused_or_are_samples_of_this_robot():
    rng = random.Random(19)
    good = [
        pack_message(sample(tau=(1.0, 2.0)), number=3),
        json.dumps({"t": 1.0, "q": [1, 2], "dq": [0.5, 0.1], "tau": [3, 4], "n": 5}).encode(),
        json.dumps({"t": 1.0, "q": [1, 2], "names": list(NAMES)}).encode(),
    ]
    damages = (mutators.flip, mutators.cut, mutators.splice)
    refused = accepted = longest = 0
    for case in range(100_000):
        kind = case % 4
        if kind == 3:
            word, key = rng.choice(WORDS), rng.choice(("t", "q", "dq", "tau", "names", "n", "end", "current"))
            try:
                data = json.dumps({"t": 1.0, "q": [1, 2], key: word}).encode()
            except ValueError:  # an integer of too many digits
                data = b"1"
        else:
            data = rng.choice(damages)(good[kind], rng)
        try:
            found = MESSAGES.of_bytes(data, "x")
        except TrackingError as error:
            longest = max(longest, len(str(error)))
            refused += 1
            continue
        accepted += 1
        assert abs(found.sample.t) < 1e12
        for name in ("q", "dq", "tau"):
            value = getattr(found.sample, name)
            assert value is None or (value.shape == (2,) and not np.any(np.abs(value) > 1e7))
    assert longest < 300
    assert refused > 30_000
    assert accepted > 5_000


# Order


def order(*times, numbers=None, arrivals=None, **options):
    """What is handed on of samples at these times, and the order that counted them."""
    found, running = [], StreamOrder(**options)
    for k, t in enumerate(times):
        number = None if numbers is None else numbers[k]
        arrival = t if arrivals is None else arrivals[k]
        found += [round(handed.t, 6) for handed in running.accept(StreamMessage(sample(t), number), arrival)]
    return found, running


def test_numbers_tell_what_is_lost_late_and_doubled():
    times = [0.1 * k for k in (0, 1, 2, 5, 5, 3, 6)]
    found, counts = order(*times, numbers=[0, 1, 2, 5, 5, 3, 6], arrivals=[0.0] * 7)
    assert found == [0.0, 0.1, 0.2, 0.5, 0.6]
    assert (counts.n_lost, counts.n_late, counts.n_doubled, counts.n_samples) == (1, 1, 1, 5)


def test_without_numbers_the_stamps_tell():
    times = [0.01 * k for k in (*range(10), 13, 11, 13, 14)]
    found, counts = order(*times, arrivals=[0.0] * len(times))
    assert found[-2:] == [0.13, 0.14]
    assert (counts.n_lost, counts.n_late, counts.n_doubled) == (2, 1, 1)
    assert counts.period == pytest.approx(0.01)


def test_a_pause_is_a_stop_and_not_a_loss():
    times = [*(0.01 * k for k in range(20)), *(3.0 + 0.01 * k for k in range(20))]
    found, counts = order(*times)
    assert found == pytest.approx(times)
    assert (counts.n_stops, counts.n_lost, counts.n_jumps) == (1, 0, 0)


def test_a_clock_that_is_set_back_or_a_sender_that_starts_again_is_followed():
    times = [*(100.0 + 0.01 * k for k in range(20)), *(0.01 * k for k in range(5))]
    found, counts = order(*times, arrivals=[0.01 * k for k in range(25)])
    assert np.all(np.diff(found) > 0.0)
    assert found[20] == pytest.approx(100.20, abs=0.011)
    assert (counts.n_jumps, counts.n_late) == (1, 0)


def test_a_clock_that_runs_away_and_comes_back_leaves_no_hole():
    times = [0.01 * k + (1e6 if 20 <= k < 30 else 0.0) for k in range(40)]
    found, counts = order(*times, arrivals=[0.01 * k for k in range(40)])
    np.testing.assert_allclose(found, 0.01 * np.arange(40), atol=0.02)
    assert counts.n_jumps == 2


@pytest.mark.parametrize(("number", "t"), [(2**60, 0.1), (3, 0.1 + 1e6), (11, 1e9), (2**40, 1e9), (10, 0.1 - 1e5)])
def test_a_damaged_number_or_time_costs_no_other_sample(number, t):
    numbers, times = list(range(20)), [0.01 * k for k in range(20)]
    numbers.insert(10, number)
    times.insert(10, t)
    found, counts = order(*times, numbers=numbers, arrivals=[0.01 * k for k in range(21)])
    np.testing.assert_allclose(found, 0.01 * np.arange(20), atol=1e-9)
    assert (counts.n_jumps, counts.n_lost, counts.n_late) == (0, 0, 1)


@pytest.mark.parametrize("numbered", [True, False])
@pytest.mark.parametrize("real_time", [True, False])
def test_a_sender_that_starts_again_soon_loses_no_sample(numbered, real_time):
    numbers = [*range(30), *range(20)]
    found, counts = order(
        *(0.01 * n for n in numbers),
        numbers=numbers if numbered else None,
        arrivals=[0.01 * k for k in range(50)],
        real_time=real_time,
    )
    np.testing.assert_allclose(found, 0.01 * np.arange(50), atol=1e-6)
    assert (counts.n_jumps, counts.n_doubled, counts.n_late, counts.n_lost) == (1, 0, 0, 0)


def test_stragglers_among_the_first_samples_of_a_restart_are_left_out():
    numbers = [*range(30), 0, 1, 28, 2, 2, 3, *range(4, 20)]
    found, counts = order(
        *(0.01 * n for n in numbers), numbers=numbers, arrivals=[0.01 * k for k in range(len(numbers))]
    )
    assert len(found) == 50
    assert np.all(np.diff(found) > 0.0)
    assert (counts.n_jumps, counts.n_doubled, counts.n_late) == (1, 2, 0)


def test_nine_older_samples_in_a_row_are_still_stragglers():
    numbers = [*range(20), *range(9), *range(20, 30)]
    found, counts = order(*(0.01 * n for n in numbers), numbers=numbers, arrivals=[0.01 * k for k in range(39)])
    np.testing.assert_allclose(found, 0.01 * np.arange(30), atol=1e-9)
    assert (counts.n_jumps, counts.n_doubled) == (0, 9)


def test_a_lagging_torque_is_moved_to_its_motion():
    delay, t = 0.025, 0.01 * np.arange(100)
    moved = TorqueDelay(delay)
    found = [s for k in range(100) for s in moved.step(sample(t[k], tau=(t[k] - delay, 0.0)))]
    assert len(found) >= 95
    np.testing.assert_allclose([s.tau[0] for s in found], [s.t for s in found], atol=1e-9)


# Feeds


def test_every_source_is_a_feed(tmp_path):
    sources = ["udp:0", *(f"follow:{tmp_path / name}" for name in ("a.csv", "a.jsonl", "a.mcap", "a.db3"))]
    for source in sources:
        intake = open_stream(source, PLANAR)
        assert isinstance(intake.feed, StreamFeed)
        assert str(tmp_path) not in intake.label
        assert intake.state == "waiting"
        assert intake.read(0.0) == []
        intake.close()
    for wrong in ("tcp:1", "udp:x", "follow:a.png", "follow:", "udp:²"):
        with pytest.raises(TrackingError, match=r"no live source|not a number|cannot be followed|names no file"):
            open_stream(wrong, PLANAR)


def test_a_source_that_stops_is_silent_within_a_second_and_picked_up_when_it_comes_back():
    feed = UdpFeed(0, MESSAGES)
    intake = SampleIntake(feed)
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as out:

        def send(first, count):
            for k in range(first, first + count):
                out.sendto(pack_message(sample(0.001 * k), number=k), ("127.0.0.1", feed.port))

        send(0, 50)
        assert len(intake.read(1.0)) == 50
        assert intake.state == "flowing"
        stopped = time.monotonic()
        while str(intake.state) != "silent":
            assert time.monotonic() - stopped < 1.0
            intake.read(0.05)
        out.sendto(b"garbage", ("127.0.0.1", feed.port))
        send(0, 20)  # the sender was started again
        found = intake.read(1.0)
        assert intake.state == "flowing"
    intake.close()
    assert len(found) == 20
    counts = intake.counts
    assert (counts.n_garbage, counts.n_jumps) == (1, 1)
    assert counts.complaint.startswith("datagram 50: not JSON")
    assert "1 garbage" in str(counts)


def test_lines_of_a_pipe_are_samples_and_one_that_is_too_long_is_skipped():
    read, write = os.pipe()
    lines = [json.dumps({"t": 0.01 * k, "q": [k, 1]}).encode() for k in range(3)]

    def write_all():
        with os.fdopen(write, "wb") as sink:
            sink.write(lines[0] + b"\n\n" + b"x" * (MAX_LINE + 10) + b"\n" + lines[1][:10])
            sink.flush()
            sink.write(lines[1][10:] + b"\n" + lines[2])

    writer = threading.Thread(target=write_all)
    writer.start()
    with os.fdopen(read, "rb") as source:
        intake = SampleIntake(LineFeed(MESSAGES, source))
        found = list(intake.samples())
    writer.join(timeout=10.0)
    assert intake.counts.n_garbage == 1
    assert [s.q[0] for s in found] == [0.0, 1.0, 2.0]
    assert intake.state == "ended"


def test_lines_are_whole_whatever_the_pieces():
    text = b"a\nbb\n" + b"c" * (2 * MAX_LINE) + b"\nd\n"
    for size in (1, 7, 70_000):
        splitter = LineSplitter()
        pieces = [text[k : k + size] for k in range(0, len(text), size)] if size > 1 else [text[:4], text[4:]]
        assert [line for piece in pieces for line in splitter.lines(piece)] == [b"a", b"bb", b"\0", b"d"]


CSV = "t,q1,q2,tau1,tau2\n" + "".join(f"{0.01 * k:.2f},{k},1,{2 * k},3\n" for k in range(40))
JSONL = "".join(json.dumps({"t": 0.01 * k, "q": [k, 1], "tau": [2 * k, 3]}) + "\n" for k in range(40))


@pytest.mark.parametrize(("name", "text"), [("run.csv", CSV), ("run.jsonl", JSONL)], ids=["csv", "jsonl"])
def test_a_file_is_followed_while_it_is_written_and_when_it_is_replaced(tmp_path, name, text):
    path = tmp_path / name
    intake = open_stream(f"follow:{path}", PLANAR)
    assert intake.read(0.0) == []
    found = []
    with path.open("w", buffering=1) as out:
        for start in range(0, len(text), 100):
            out.write(text[start : start + 100])
            out.flush()
            found += intake.read(0.0)
    found += intake.read(0.0)
    assert [s.q[0] for s in found] == list(range(40))
    assert found[-1].tau[0] == 78.0
    other = tmp_path / "new"
    other.write_text(text)
    other.replace(path)
    again = [s for _ in range(4) for s in intake.read(0.0)]
    assert len(again) == 40
    assert again[0].t > found[-1].t
    intake.close()


def test_a_table_that_grows_has_the_units_and_signs_of_its_map(tmp_path):
    from dynid.recording import ColumnMap

    path = tmp_path / "run.csv"
    path.write_text("time_ms,a1,a2\n0,90,0\n1,-90,bad\n2,0,180\n")
    columns = ColumnMap.model_validate(
        {"columns": {"t": "time_ms", "q": "a{n}"}, "units": {"t": "ms", "q": "deg"}, "signs": {NAMES[0]: {"q": -1}}}
    )
    intake = open_stream(f"follow:{path}", PLANAR, LogSettings(columns=columns))
    found = [s for _ in range(3) for s in intake.read(0.0)]
    intake.close()
    np.testing.assert_allclose([s.q for s in found], [[-np.pi / 2, 0.0], [0.0, np.pi]])
    np.testing.assert_allclose([s.t for s in found], [0.0, 0.002])
    assert intake.counts.n_garbage == 1


def joint_state(k, names):
    from rosbags.typesys import Stores, get_typestore

    types = get_typestore(Stores.LATEST)
    Header, Time = types.types["std_msgs/msg/Header"], types.types["builtin_interfaces/msg/Time"]
    values = [np.array([float(k), 1.0, 9.0]), np.zeros(3), np.array([2.0 * k, 3.0, 9.0])]
    message = types.types["sensor_msgs/msg/JointState"](
        Header(Time(1000 + k // 100, 10_000_000 * (k % 100)), ""), list(names), *values
    )
    return bytes(types.serialize_cdr(message, "sensor_msgs/msg/JointState"))


def record(kind, content):
    return struct.pack("<BQ", kind, len(content)) + content


def text(value):
    return struct.pack("<I", len(value)) + value.encode()


def mcap(messages, packed, per_chunk=10):
    """An MCAP file as a recorder writes it, chunk by chunk, without the index that comes last."""
    schema = record(3, struct.pack("<H", 1) + text("sensor_msgs/msg/JointState") + text("ros2msg") + text(""))
    channel = record(4, struct.pack("<HH", 1, 1) + text("/joint_states") + text("cdr") + struct.pack("<I", 0))
    head = b"\x89MCAP0\r\n" + record(1, text("ros2") + text("test"))
    pieces = [head]
    for start in range(0, len(messages), per_chunk):
        inner = schema + channel if start == 0 else b""
        for k, data in enumerate(messages[start : start + per_chunk], start):
            inner += record(5, struct.pack("<HIQQ", 1, k, 10**9 + k, 10**9 + k) + data)
        if packed == "none":
            pieces.append(inner)
            continue
        squeezed = {"": lambda x: x, "lz4": _lz4, "zstd": _zstd}[packed](inner)
        chunk = struct.pack("<QQQI", 0, 0, len(inner), 0) + text(packed) + struct.pack("<Q", len(squeezed)) + squeezed
        pieces.append(record(6, chunk))
    return b"".join([*pieces, record(15, struct.pack("<I", 0))])


def _lz4(data):
    from lz4.frame import compress

    return compress(data)


def _zstd(data):
    from rosbags.rosbag2.storage_mcap import zstd

    return zstd.compress(data)


LOG_NAMES = (f"fer_{NAMES[0]}", f"fer_{NAMES[1]}", "finger")


@pytest.mark.parametrize("packed", ["none", "", "lz4", "zstd"])
def test_a_bag_is_followed_while_it_is_written(tmp_path, packed):
    data = mcap([joint_state(k, LOG_NAMES) for k in range(40)], packed)
    path = tmp_path / "run_0.mcap"
    intake = open_stream(f"follow:{path}", PLANAR)
    found = []
    with path.open("wb") as out:
        for start in range(0, len(data), 300):
            out.write(data[start : start + 300])
            out.flush()
            found += intake.read(0.0)
            if start == 600:
                assert len(found) < 40
    found += intake.read(0.0)
    intake.close()
    assert [s.q[0] for s in found] == list(range(40))
    assert found[-1].tau[0] == 78.0
    np.testing.assert_allclose(np.diff([s.t for s in found]), 0.01, rtol=1e-6)


def test_the_folder_of_a_recorder_is_followed_from_file_to_file(tmp_path):
    folder = tmp_path / "bag"
    intake = open_stream(f"follow:{folder}", PLANAR)
    assert intake.read(0.0) == []
    folder.mkdir()  # by the recorder, once it starts
    assert intake.read(0.0) == []
    for part in range(3):
        states = [joint_state(k, LOG_NAMES) for k in range(10 * part, 10 * part + 10)]
        (folder / f"bag_{part + 8}.mcap").write_bytes(mcap(states, ""))
    found = [s for _ in range(12) for s in intake.read(0.0)]
    intake.close()
    assert [s.q[0] for s in found] == list(range(30))


def test_the_forwarder_of_ros_topics_sends_what_a_source_reads():
    from rosbags.typesys import Stores, get_typestore

    path = Path(__file__).resolve().parents[2] / "examples" / "ros2" / "udp_forwarder.py"
    forwarder: dict[str, Any] = {"__name__": "forwarder"}
    exec(compile(path.read_text(), str(path), "exec"), forwarder)
    types = get_typestore(Stores.LATEST)
    for k in range(3):
        recorded = types.deserialize_cdr(joint_state(k, LOG_NAMES), "sensor_msgs/msg/JointState")
        message = MESSAGES.of_bytes(forwarder["datagram"](recorded, k), "x")
        assert message.number == k
        same(message.sample, sample(1000.0 + 0.01 * k, (k, 1.0), dq=(0.0, 0.0), tau=(2.0 * k, 3.0)))


def test_a_database_bag_is_followed_while_it_is_written(tmp_path):
    path = tmp_path / "bag_0.db3"
    intake = open_stream(f"follow:{path}", PLANAR)
    assert intake.read(0.0) == []
    database = sqlite3.connect(path)
    database.execute("CREATE TABLE topics(id INTEGER PRIMARY KEY, name TEXT, type TEXT, serialization_format TEXT)")
    database.execute("CREATE TABLE messages(id INTEGER PRIMARY KEY, topic_id INTEGER, timestamp INTEGER, data BLOB)")
    database.execute("INSERT INTO topics VALUES(1, '/joint_states', 'sensor_msgs/msg/JointState', 'cdr')")
    database.commit()
    found = list(intake.read(0.0))
    for k in range(40):
        database.execute("INSERT INTO messages VALUES(?, 1, ?, ?)", (k + 1, 10**9 + k, joint_state(k, LOG_NAMES)))
        if k % 15 == 0:
            database.commit()
            found += intake.read(0.0)
    assert 0 < len(found) < 40
    database.commit()
    found += intake.read(0.0)
    database.close()
    with ThreadPoolExecutor(1) as other:  # a live run reads in a thread of its own, and is closed from another
        other.submit(intake.close).result(timeout=10.0)
    assert [s.q[0] for s in found] == list(range(40))


def test_damaged_bags_are_refused_and_nothing_else_breaks(tmp_path):
    rng, data = random.Random(5), mcap([joint_state(k, LOG_NAMES) for k in range(20)], "zstd", 5)
    refused = 0
    for case in range(400):
        damaged = rng.choice((mutators.flip, mutators.cut, mutators.splice))(data, rng)
        path = tmp_path / "x.mcap"
        path.write_bytes(damaged)
        intake = open_stream(f"follow:{path}", PLANAR)
        found = [s for _ in range(3) for s in intake.read(0.0)]
        refused += intake.counts.n_garbage > 0
        assert len(found) <= 60, case
        intake.close()
    assert refused > 50
    records = McapRecords("x")
    with pytest.raises(TrackingError, match=r"x: a record of .* bytes; the file is damaged"):
        list(records.messages(b"\x89MCAP0\r\n" + struct.pack("<BQ", 6, MAX_RECORD + 1)))


def test_the_rate_of_a_flood_is_bounded_and_memory_is_too():
    feed = UdpFeed(0, MESSAGES)
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as out:
        for k in range(300):
            out.sendto(bytes([k % 256]) * 50, ("127.0.0.1", feed.port))
    assert 0 < len(feed.receive(0.1)) <= 256
    feed.close()


def test_a_replay_is_a_source_like_any_other():
    t = 0.01 * np.arange(30)
    log = Recording(NAMES, t, np.column_stack([t, t]), tau=np.column_stack([t, t]))
    intake = SampleIntake.of_log(log, speed=3.0)
    started = time.monotonic()
    found = list(intake.samples())
    assert time.monotonic() - started >= 0.09
    np.testing.assert_array_equal([s.t for s in found], t)
    assert (intake.state, intake.counts.n_samples, intake.counts.n_lost) == ("ended", 30, 0)


def test_ctrl_c_keeps_what_was_learnt(monkeypatch):
    feed = UdpFeed(0, MESSAGES)
    intake = SampleIntake(feed)
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as out:
        out.sendto(pack_message(sample()), ("127.0.0.1", feed.port))
    samples = intake.samples()
    assert next(samples).t == 0.5

    def interrupt(wait):
        raise KeyboardInterrupt

    monkeypatch.setattr(feed, "receive", interrupt)
    assert list(samples) == []
    intake.close()
