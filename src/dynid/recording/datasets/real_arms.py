"""Five real arms whose logs were published by four groups, as mirrors hold them.

The hashes are those of the files of a mirror, computed from them. Of the bags the authors' own address is known, but
not that their bytes are those of the mirror: from the network they are unverified, and the hash of what came is written
into ``dataset.json`` beside them. The other logs were converted from the authors' files, which nobody here has had in
hands: they exist in mirrors only.
"""

from __future__ import annotations

from dynid.recording.datasets.entries import DataFile, DataSet, SourceFile

__all__ = ["REAL_ARMS"]

GITHUB = "https://github.com"
BAGS = "https://raw.githubusercontent.com/unisa-acg/inverse-dynamics-solver/73217267f30e3aaba229b63233c8fdb628ba156b"
HALVES = "There is one log: fit its first part, and validate on the rest."


def _kept(name: str, what: str, n_bytes: int, sha256: str) -> DataFile:
    return DataFile(name=name, what=f"{what}; mirrors only", sha256=sha256, n_bytes=n_bytes)


def _bag(what: str, place: str, n_bytes: int, sha256: str) -> DataFile:
    address = f"{BAGS}/{place}"
    return DataFile(name="log.db3", what=what, sha256=sha256, n_bytes=n_bytes, sources=(SourceFile(address=address),))


REAL_ARMS: tuple[DataSet, ...] = (
    DataSet(
        name="lwr4",
        title="KUKA LWR4+: three runs with joint torques that were filtered before they were stored",
        robot="robot.urdf",
        source=f"{GITHUB}/kjyv/FloBaRoID",
        licence="LGPL",
        cite="sample measurements of FloBaRoID, data/KUKA/HW in its repository",
        files=(
            _kept("robot.urdf", "robot", 15219, "8fd76631f12b38404812bc343e998cc9ca3af18d850856c5b050b39ab6fc62ad"),
            _kept(
                "run1.csv.gz",
                "log: 25 s, 200 Hz",
                517189,
                "5aceb0a5c824e21d6244b7b8df4ddd755cbbaade29b74dcdfcd94bda6739b511",
            ),
            _kept(
                "run2.csv.gz",
                "log: 25 s, 200 Hz",
                516902,
                "91e393cee6a935038a6d1ffc105006df3abc3cb5189cc4520adb3bb863557550",
            ),
            _kept(
                "run3.csv.gz",
                "log: 25 s, 200 Hz",
                525227,
                "2238d23e0999c2da2ff0dfc4c1f255bfe1643397fdd342365f8d9375866aca7c",
            ),
        ),
        next=(
            (
                "dynid identify {dir}/robot.urdf {dir}/run2.csv.gz {dir}/run3.csv.gz --validate {dir}/run1.csv.gz "
                "--out lwr4-result",
                ("run1.csv.gz",),
            ),
        ),
    ),
    DataSet(
        name="kr300",
        title="KUKA KR300 R2500: three runs of 10 s of a 300 kg-payload arm with a counterbalance",
        robot="robot.toml",
        source=f"{GITHUB}/JonasWeigand/Robot_Identification",
        licence="MIT",
        cite="recorded trajectories of Robot_Identification, data/recorded_trajectories in its repository",
        files=(
            _kept("robot.toml", "robot", 919, "c80d8777b80dd5dde329e1e45bd54ca9d68588dc520539c9ee7cf3e7b27220a1"),
            *(
                _kept(f"run{name}.csv.gz", "log: 10 s, 250 Hz", n_bytes, sha256)
                for name, n_bytes, sha256 in (
                    ("A", 230607, "c4344ca48b303ff425dba935f0ce11e2a223c0ee14b7e95006cf61647d48679e"),
                    ("B", 229429, "8ea4e083d1b30b07dcdf86c28dc76fadf922a21e910f0305381ac4ce570c7f4b"),
                    ("C", 229440, "bb252139c24e1f9f177ba14fb70b75566d1590b6546858745abe07f8deaef7ed"),
                )
            ),
        ),
        notes=("Torques are motor torques times gear; the runs are short and weakly excited.",),
        next=(
            (
                "dynid identify {dir}/robot.toml {dir}/runA.csv.gz {dir}/runB.csv.gz --validate {dir}/runC.csv.gz "
                "--out kr300-result",
                ("runC.csv.gz",),
            ),
        ),
    ),
    DataSet(
        name="ur10",
        title="Universal Robots UR10: one exciting run of 27 s at 125 Hz, also as a ROS 2 bag",
        robot="robot.urdf",
        source=f"{GITHUB}/unisa-acg/inverse-dynamics-solver",
        licence="BSD-3-Clause; the robot file is from Daniella1/urdf_files_dataset",
        cite="bag files of unisa-acg/inverse-dynamics-solver",
        files=(
            _kept("robot.urdf", "robot", 14136, "11273a46d4bb0dbb801c12b42dc285299b5a074855ee7f7faddf906132d487a3"),
            _kept(
                "log.csv.gz",
                "log: 27 s, 125 Hz",
                309259,
                "8a7b9c58b2a7b9138341d9f199cab57604aa8be1ece1a6772490fdcb8f9228af",
            ),
            _bag(
                "the same as a ROS 2 bag",
                "inverse_dynamics_interface_ur10/bagfiles/ur10_exciting_trajectory.db3",
                1257472,
                "14244fc39e9b42047039824f3c20ab984f9d1b28d5a67e9415cc1b3cc0ac3369",
            ),
        ),
        notes=(HALVES,),
        next=(
            ("dynid identify {dir}/robot.urdf {dir}/log.csv.gz --until 20 --out ur10-result", ("log.csv.gz",)),
            ("dynid validate ur10-result/model.json {dir}/log.csv.gz --from 20", ("log.csv.gz",)),
        ),
    ),
    DataSet(
        name="panda30",
        title="Franka Panda: one exciting run of 24 s at 30 Hz, also as a ROS 2 bag",
        robot="panda (built in)",
        source=f"{GITHUB}/unisa-acg/inverse-dynamics-solver",
        licence="BSD-3-Clause",
        cite="bag files of unisa-acg/inverse-dynamics-solver",
        files=(
            _kept(
                "log.csv.gz",
                "log: 24 s, 30 Hz",
                72870,
                "cd60727f9ac3dc480b08afa4d51997a079f95813cbc0abe291014ae3cc507ff5",
            ),
            _bag(
                "the same as a ROS 2 bag; its first stamp is 0, its joints are called fer_joint1…",
                "inverse_dynamics_interface_franka_inria/bagfiles/panda_exciting_trajectory.db3",
                307200,
                "6794c9dc89628d775bd77bfaee3ed73e0a7d7716401886e17e06d81ea3b7f299",
            ),
        ),
        notes=(HALVES,),
        next=(
            ("dynid identify panda {dir}/log.db3 --until 16 --out panda30-result", ("log.db3",)),
            ("dynid validate panda30-result/model.json {dir}/log.db3 --from 16", ("log.db3",)),
        ),
    ),
    DataSet(
        name="med7",
        title="KUKA LBR Med 7: one run of 16 s at 100 Hz, in which every torque is negated",
        robot="robot.urdf",
        source=f"{GITHUB}/lbr-stack/dynamic_parameter_identification",
        licence="MIT",
        cite="measurements of lbr-stack/dynamic_parameter_identification, src/test in its repository",
        files=(
            _kept("robot.urdf", "robot", 17287, "29b19bce6d82a5a991ad3a7d24da87ee19194ad165eaeb63911de824276f43de"),
            _kept(
                "log.csv.gz",
                "log: q and tau, no velocities",
                85791,
                "7af00b69f3327d39b08c1ed9b64786c808df880419f77d85dc8d6a907abe7dea",
            ),
            _kept(
                "external.csv.gz",
                "the controller's own estimate of external torque, same rows",
                58728,
                "6048dba1bf9c1aa7514fdc8c4507765fc2923d0939a90b06ba871f3c3a41fa70",
            ),
        ),
        notes=("The controller counts torque the other way round at every joint.",),
        next=(("dynid doctor {dir}/robot.urdf {dir}/log.csv.gz --write-map med7.toml", ("log.csv.gz",)),),
    ),
)
"""The data sets, in the order they are listed."""
