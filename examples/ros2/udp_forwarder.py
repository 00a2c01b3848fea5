"""Forward /joint_states of a ROS 2 robot to dynid by UDP: run it where ROS runs, next to the robot.

    python3 udp_forwarder.py --port 5005 [--topic /joint_states] [--host 127.0.0.1]
    dynid track model.json udp:5005 --payload          # or: dynid live model.json udp:5005

The node needs rclpy and sensor_msgs of a ROS 2 installation, and nothing of dynid. `datagram` alone needs neither: it
turns any object with the fields of a JointState message into what dynid reads.
"""

import argparse
import json
import math
import socket


def datagram(message, number):
    """The JSON datagram of a JointState message, numbered, so that dynid can count what is lost."""
    stamp = message.header.stamp
    content = {"t": stamp.sec + 1e-9 * stamp.nanosec, "n": number, "names": list(message.name)}
    for key, values in (("q", message.position), ("dq", message.velocity), ("tau", message.effort)):
        # Drivers leave empty what they do not measure.
        if len(values) == len(message.name):
            content[key] = [float(value) if math.isfinite(value) else None for value in values]
    return json.dumps(content).encode()


def main():
    """Forward until Ctrl-C."""
    import rclpy
    from rclpy.qos import qos_profile_sensor_data
    from sensor_msgs.msg import JointState

    parser = argparse.ArgumentParser(description="Forward joint states to dynid by UDP.")
    parser.add_argument("--port", type=int, default=5005)
    parser.add_argument("--host", default="127.0.0.1", help="where dynid runs")
    parser.add_argument("--topic", default="/joint_states")
    asked = parser.parse_args()
    out, count = socket.socket(socket.AF_INET, socket.SOCK_DGRAM), 0

    def forward(message):
        nonlocal count
        out.sendto(datagram(message, count), (asked.host, asked.port))
        count += 1

    rclpy.init()
    node = rclpy.create_node("dynid_udp_forwarder")
    node.create_subscription(JointState, asked.topic, forward, qos_profile_sensor_data)
    try:
        rclpy.spin(node)
    except KeyboardInterrupt:
        pass
    finally:
        node.destroy_node()
        rclpy.shutdown()


if __name__ == "__main__":
    main()
