"""The arm in 3D: capsules or meshes on frames that move, the load, the arrow of a contact."""

from __future__ import annotations

from typing import Any

import numpy as np

from dynid.arrays import Array, Float
from dynid.chain.robot import BASE, Robot
from dynid.workflow.live_view import LiveView
from dynid.writers.live.meshes import LinkMesh
from dynid.writers.live.shapes import DrawnCapsule, arm_capsules, contact_arrow, link_poses, load_shape, quaternion

__all__ = ["LiveScene"]

ARM, JOINT, LOAD, CONTACT = (140, 170, 210), (90, 100, 120), (124, 58, 237), (220, 38, 38)
"""Colours."""


class LiveScene:
    """Draws a view with the fewest messages: geometry is sent once, then only poses."""

    def __init__(self, server: Any, robot: Robot, meshes: list[LinkMesh]) -> None:
        """Build the arm on a server of viser."""
        self._server, self._robot = server, robot
        scene = server.scene
        scene.set_up_direction("+z")
        capsules = arm_capsules(robot)
        reach = sum(float(np.linalg.norm(c.end - c.start)) for c in capsules)
        # Without a graphics card, shadows and mirrored surroundings take most of the time of a frame.
        scene.configure_default_lights(cast_shadow=False)
        scene.configure_environment_map(None)
        scene.add_light_hemisphere("/sky", sky_color=(255, 255, 255), ground_color=(150, 160, 175), intensity=2.0)
        scene.add_grid("/floor", width=4.0 * reach, height=4.0 * reach, cell_size=0.25, shadow_opacity=0.0)
        self._frames = [scene.add_frame(f"/arm/{index}", show_axes=False) for index in range(robot.n_dof)]
        drawn = {mesh.link for mesh in meshes}
        for number, mesh in enumerate(meshes):
            vertices = mesh.triangles.reshape(-1, 3)
            faces = np.arange(len(vertices)).reshape(-1, 3)
            scene.add_mesh_simple(
                f"/arm/{mesh.link}/mesh{number}", vertices, faces, color=ARM, flat_shading=False, side="double"
            )
        for number, capsule in enumerate(capsules):
            if capsule.link not in drawn:
                self._add_capsule(capsule, number)
        self._load = scene.add_icosphere(
            f"/arm/{robot.n_dof - 1}/load", radius=1.0, color=LOAD, opacity=0.75, visible=False
        )
        self._arrow: Any = None
        server.initial_camera.position = (0.75 * reach, -0.75 * reach, 0.55 * reach)
        server.initial_camera.look_at = (0.0, 0.0, 0.28 * reach)

    def _add_capsule(self, capsule: DrawnCapsule, number: int) -> None:
        import trimesh

        place = "/base" if capsule.link == BASE else f"/arm/{capsule.link}"
        span = capsule.end - capsule.start
        length = float(np.linalg.norm(span))
        shape = trimesh.creation.capsule(height=length, radius=capsule.radius, count=(16, 16))
        vertices = np.asarray(shape.vertices) - np.asarray(shape.bounds).mean(axis=0)
        z = span / length if length > 1e-9 else np.array([0.0, 0.0, 1.0])
        x = np.cross(np.eye(3)[int(np.argmin(np.abs(z)))], z)
        x /= np.linalg.norm(x)
        R = np.column_stack([x, np.cross(z, x), z])
        self._server.scene.add_mesh_simple(
            f"{place}/capsule{number}",
            vertices @ R.T + 0.5 * (capsule.start + capsule.end),
            np.asarray(shape.faces),
            color=ARM if capsule.link != BASE else JOINT,
            flat_shading=False,
        )

    def show(self, view: LiveView) -> None:
        """Move everything to where a view has it."""
        for frame, T in zip(self._frames, link_poses(self._robot, view.q), strict=True):
            frame.position, frame.wxyz = T[:3, 3], quaternion(T[:3, :3])
        shape = load_shape(view.load)
        self._load.visible = shape is not None
        if shape is not None:
            self._load.position, self._load.wxyz = shape.centre, quaternion(shape.axes)
            self._load.scale = tuple(float(half) for half in shape.halves)
        self._show_contact(None if view.contact is None else contact_arrow(self._robot, view.q, view.contact))

    def _show_contact(self, arrow: Float[Array, "2 3"] | None) -> None:
        if arrow is None:
            if self._arrow is not None:
                self._arrow.visible = False
            return
        if self._arrow is None:
            self._arrow = self._server.scene.add_arrows(
                "/contact", arrow[None], colors=CONTACT, shaft_radius=0.015, head_radius=0.04, head_length=0.08
            )
        self._arrow.points, self._arrow.visible = arrow[None].astype(np.float32), True
