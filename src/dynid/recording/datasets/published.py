"""The public data sets that dynid knows: where they come from, under which licence, and how to tell they are whole.

A hash stands here only where it was computed. The four texts of the Panda log and the robot file of the UR10e are
verified file by file. Of the UR10e logs the numbers are verified after conversion, because the authors' files have more
columns than are used. What nobody here has had in hands carries no hash, and is fetched only when asked for unverified.
"""

from __future__ import annotations

from dynid.errors import UnknownName
from dynid.recording.datasets.entries import DataFile, DataSet, SourceFile
from dynid.recording.datasets.real_arms import REAL_ARMS

__all__ = ["DATA_SETS", "data_set"]

GITHUB = "https://raw.githubusercontent.com"
PANDA = f"{GITHUB}/marcocognetti/FrankaEmikaPandaDynModel/44f1ec8a615555eb3469ca9b0abd31ef863872b5"
UR_OLD = f"{GITHUB}/shamilmamedov/dynamic_calibration/b382f14bc40c84e1e0114121b3a697504d7aa6a0"
UR_LOGS = f"{GITHUB}/shamilmamedov/dynamic_calibration/ded626374e0aafe008758e8f5d1b4570c196c759"
UR_LOAD = f"{GITHUB}/shamilmamedov/dynamic_calibration/3afa267a6dca8a91a6938e878a32ca086c5cc606"
UR_TOUCH = f"{GITHUB}/shamilmamedov/dynamic_calibration/ed20311ca9a853731d2d2a90629d90ba01162125"
WAM = "https://codeload.github.com/cdsousa/wam7_dyn_ident/zip/dbfce5b84893035fdbe44ff1b306ab9a442d564f"


_UR_MIRROR = {
    "30s12h": ("4da8c5612911b501301c31252b71cb2d54f1f49a2524905b5914a7d551a9613f", 209760),
    "20s8h": ("5eab12d095b44ac8b814bc5348697a1a1ebd42dc4bcd1bbb88f40246704fcb98", 103567),
    "14h": ("d5cbdfba7ae1d2b994f5d6421aba22424a9280d782e21ec04e9e85400566343f", 245032),
    "14hLoad": ("78e90904f94c9f46c9b103f20ae0a6c7434811252e253b8270e565b286a81c6f", 245878),
}
_UR_GAINS = "11.976,11.976,9.8387,10.763,10.763,10.763"
_UR_NOTES = (
    "Logs hold motor currents; gains in N·m/A turn them into torques. Those in the commands below follow from the "
    "controller's own target torque over target current; a known mass finds them from the loaded run.",
    "Stamps alternate between 10 and 12 ms.",
)


def _ur_log(name: str, what: str, address: str, n_bytes: int, rows: tuple[int, int], numbers: str) -> DataFile:
    sha256, size = _UR_MIRROR[name]
    source = SourceFile(address=address, n_bytes=n_bytes)
    return DataFile(
        name=f"{name}.csv.gz",
        what=what,
        sha256=sha256,
        n_bytes=size,
        numbers=numbers,
        sources=(source,),
        converter="ur",
        rows=rows,
    )


_UR_ROBOT = DataFile(
    name="ur10e.urdf",
    what="robot file",
    sha256="0d2abc6ebc70725c691a35aa6c2d03fd6e8158017a1b7da7a10a3ef52de7b821",
    n_bytes=11913,
    sources=(
        SourceFile(
            address=f"{UR_OLD}/URe/urdf/ur10e.urdf",
            sha256="0d2abc6ebc70725c691a35aa6c2d03fd6e8158017a1b7da7a10a3ef52de7b821",
            n_bytes=11913,
        ),
    ),
)
_UR_CITE = (
    "S. Mamedov and S. Mikhel, Practical Aspects of Model-Based Collision Detection, "
    "Frontiers in Robotics and AI 7, 2020, doi 10.3389/frobt.2020.571574"
)
_PANDA_LOG = f"{PANDA}/matlab/data/Exciting_Traj/Trajectory_1/rbt_log/exciting_traj"

DATA_SETS: dict[str, DataSet] = {
    entry.name: entry
    for entry in (
        DataSet(
            name="panda",
            title="Franka Emika Panda: an exciting trajectory with measured torques, and the controller's model",
            robot="panda (built in)",
            source="https://github.com/marcocognetti/FrankaEmikaPandaDynModel",
            licence="GPL-3.0",
            cite="C. Gaz, M. Cognetti, A. Oliva, P. Robuffo Giordano and A. De Luca, Dynamic Identification of the "
            "Franka Emika Panda Robot With Retrieval of Feasible Parameters Using Penalty-Based Optimization, "
            "IEEE Robotics and Automation Letters 4(4), 2019",
            files=(
                DataFile(
                    name="excitation_log.csv.gz",
                    what="log: t, q, dq, link-side torque, 20 544 samples, 21 s at about 1 kHz",
                    sha256="ea6ff18ad4c78aa5567c4de87379dd7fe9fdb1030185cc3058b8073f5fd2a23e",
                    n_bytes=1388990,
                    numbers="c51e6c7ddd84b1f953bb8a2ac29a657c21ea7fd4492379afbd0273917759f155",
                    sources=(
                        SourceFile(
                            address=f"{_PANDA_LOG}_time.txt",
                            sha256="031063612f297011dc005ab29830903e36f4bfeba77bce59c0fbde13620fb20d",
                            n_bytes=163156,
                        ),
                        SourceFile(
                            address=f"{_PANDA_LOG}_positions.txt",
                            sha256="50bf82a082c439aff8220e8142985c8dd783f7ddc1415987cd75c9efb88bcf69",
                            n_bytes=1313599,
                        ),
                        SourceFile(
                            address=f"{_PANDA_LOG}_velocity.txt",
                            sha256="3340f299e926c501b66d540fa461ea0a7184b8dda32e505ebed062db57860d49",
                            n_bytes=1333480,
                        ),
                        SourceFile(
                            address=f"{_PANDA_LOG}_torques.txt",
                            sha256="11fda32785bb29ce444e14e0f45f4893aab7142dc6ee29576d828ab154852f9c",
                            n_bytes=1259026,
                        ),
                    ),
                    converter="panda",
                ),
                DataFile(
                    name="controller_model_1010.csv.gz",
                    what="M(q) and g(q) at 1010 poses, rebuilt from the published base parameters; mirrors only",
                    sha256="a53ccc5f1774876cc7384f048c9df271d6cec95cc866ba1b15d6cb7441d8df05",
                    n_bytes=233393,
                ),
                DataFile(
                    name="bounds.csv",
                    what="bounds on the parameters that the authors used; mirrors only",
                    sha256="143a09cca8c76288cf765609f0e32063910c57fff5a5540ecb701ee9003fdf3c",
                    n_bytes=1020,
                ),
                DataFile(
                    name="published.json",
                    what="the published tables; mirrors only",
                    sha256="f6bfb69b2a3079b87d781a7ba153fb6b6b1c5f162323c8fe8a04caec77b621ac",
                    n_bytes=9261,
                ),
            ),
            notes=("Stamps jitter from 0.7 to 8.8 ms; dynid resamples.",),
            next=(
                (
                    "dynid identify panda {dir}/excitation_log.csv.gz --bounds {dir}/bounds.csv --total-mass 16 20 "
                    "--until 14 --out panda-result",
                    ("excitation_log.csv.gz", "bounds.csv"),
                ),
                (
                    "dynid identify panda {dir}/excitation_log.csv.gz --until 14 --out panda-result",
                    ("excitation_log.csv.gz",),
                ),
                (
                    "dynid validate panda-result/model.json {dir}/excitation_log.csv.gz --from 14",
                    ("excitation_log.csv.gz",),
                ),
                (
                    "dynid reverse panda {dir}/controller_model_1010.csv.gz --out panda-controller",
                    ("controller_model_1010.csv.gz",),
                ),
            ),
        ),
        DataSet(
            name="ur10e",
            title="Universal Robots UR10e: four runs with motor currents, one of them with a load of 2.805 kg",
            robot="ur10e.urdf",
            source="https://github.com/shamilmamedov/dynamic_calibration",
            licence="none stated by the authors: ask them before you pass it on",
            cite=_UR_CITE,
            files=(
                _UR_ROBOT,
                _ur_log(
                    "30s12h",
                    "log: 30.6 s, 12 harmonics, no load",
                    f"{UR_LOGS}/data_ur10/identification_data/ur-20_02_10-30sec_12harm.csv",
                    1108064,
                    (635, 3510),
                    "61fda6b468b1eae2ced5d7c6125730b765cae07fbfa778035c3fc39047a821b9",
                ),
                _ur_log(
                    "20s8h",
                    "log: 21.3 s, 8 harmonics, no load",
                    f"{UR_LOGS}/data_ur10/identification_data/ur-20_02_05-20sec_8harm.csv",
                    593204,
                    (320, 2310),
                    "f79feb765a7a9faff21e527770882965e028ff8b7f496c85cc62faa6fc63707b",
                ),
                _ur_log(
                    "14h",
                    "log: 50.1 s, 14 harmonics, no load",
                    f"{UR_LOGS}/data_ur10/identification_data/ur-20_02_19_14harm50sec.csv",
                    1275916,
                    (195, 4966),
                    "dab35b479eced21bd584e6a2ff6c36bb9bb9b98dc1b6f82c2ab04cca4f4eff77",
                ),
                _ur_log(
                    "14hLoad",
                    "log: 50.1 s, 14 harmonics, load of 2.805 kg",
                    f"{UR_LOAD}/data_ur10/ur-20_02_19_14harm50secLoad.csv",
                    1266950,
                    (308, 5071),
                    "a0b9da58010b48da5e2d5913dc010782924113fd7357507d135cccde7b389f7e",
                ),
                DataFile(
                    name="facts.json",
                    what="facts: drive gains, load, figures of the authors, times of the contacts; mirrors only",
                    sha256="bfe49101998f85e2501491a5d4d1d5bbbac7673d33309dab92a816a703aa6cfe",
                    n_bytes=1712,
                ),
            ),
            notes=_UR_NOTES,
            next=(
                (
                    f"dynid identify {{dir}}/ur10e.urdf {{dir}}/30s12h.csv.gz --gains {_UR_GAINS} "
                    "--validate {dir}/20s8h.csv.gz --out ur10e-result",
                    ("ur10e.urdf", "30s12h.csv.gz", "20s8h.csv.gz"),
                ),
                (
                    "dynid payload ur10e-result/model.json {dir}/14hLoad.csv.gz --unloaded {dir}/14h.csv.gz "
                    "--known-mass 2.805",
                    ("14h.csv.gz", "14hLoad.csv.gz"),
                ),
            ),
        ),
        DataSet(
            name="ur10e-contacts",
            title="Universal Robots UR10e: three runs in which the arm is touched, one in which it is not",
            robot="ur10e.urdf",
            source="https://github.com/shamilmamedov/dynamic_calibration",
            licence="none stated by the authors: ask them before you pass it on",
            cite=_UR_CITE,
            files=(
                _UR_ROBOT,
                *(
                    DataFile(
                        name=f"collision_{place}.csv.gz",
                        what=f"log: {words}",
                        sources=(
                            SourceFile(
                                address=f"{UR_TOUCH}/data_ur10/collision_detection_data/collision_{place}.csv",
                                n_bytes=n_bytes,
                            ),
                        ),
                        converter="ur",
                    )
                    for place, words, n_bytes in (
                        ("free", "no contact", 413234),
                        ("2link", "touched at the second link", 1383427),
                        ("3link", "touched at the third link", 1313055),
                        ("wrist", "touched at the wrist", 623723),
                    )
                ),
            ),
            notes=_UR_NOTES,
            next=(
                (
                    f"dynid track ur10e-result/model.json {{dir}}/collision_wrist.csv.gz --payload --gains {_UR_GAINS}",
                    ("collision_wrist.csv.gz",),
                ),
            ),
        ),
        DataSet(
            name="wam7",
            title="Barrett WAM with seven joints: designed trajectories, CAD parameters and the published columns",
            robot="wam7 (built in)",
            source="https://doi.org/10.5281/zenodo.10537",
            licence="CC BY-NC-SA 4.0",
            cite="C. D. Sousa and R. Cortesão, Physical feasibility of robot base inertial parameter identification: "
            "A linear matrix inequality approach, International Journal of Robotics Research 33(6), 2014",
            files=(
                DataFile(
                    name="wam7_trajectories.json",
                    what="Fourier coefficients of the four designed trajectories; mirrors only",
                    sha256="aeb8f1044d4fab5857fc9e8e14205b4e3f7c1d42f944f11d6b23b481825d9a8f",
                    n_bytes=9523,
                    converter="wam-series",
                ),
                *(
                    DataFile(name=f"wam7_{name}.json", what=f"{what}; mirrors only", sha256=sha256, n_bytes=n_bytes)
                    for name, what, sha256, n_bytes in (
                        (
                            "dh",
                            "Denavit–Hartenberg table",
                            "f89291c54656cb9c2fcfde2430b27f5541fc4c9564043c522455c17d57b40821",
                            874,
                        ),
                        (
                            "cad_params",
                            "masses, centres and inertias from CAD",
                            "446ed0b068e2431fc35117233b0c3f80dc03a17ed24f6c903b5f156fb156e2ff",
                            6251,
                        ),
                        (
                            "base_params",
                            "base parameters",
                            "640b1488f5594bbba1a2c0e694ba461a35c32d2b8ab17cd1effbead3d9f05194",
                            14072,
                        ),
                        (
                            "table1",
                            "the published columns",
                            "6e790779987326c69241e8c2c4de17c65a536a0059cc2e45ac3a1d38bf5f054e",
                            18195,
                        ),
                    )
                ),
            ),
            archive=SourceFile(address=WAM),
            members=(("data/recdata", "wam-record"), ("data/trajectories", "wam-reference")),
            notes=(
                "From the network comes the authors' whole repository, of which the recorded runs and the commanded "
                "trajectories are converted; no hash of it is known.",
            ),
            next=(
                ("dynid simulate wam7 --trajectory {dir}/traj1.csv.gz --out wam-log.csv", ("traj1.csv.gz",)),
                ("dynid identify wam7 wam-log.csv --out wam-result", ("traj1.csv.gz",)),
            ),
        ),
        *REAL_ARMS,
    )
}
"""Every data set by its name; sizes in bytes."""


def data_set(name: str) -> DataSet:
    """The data set of a name.

    Raises:
        UnknownName: listing those there are.
    """
    if name not in DATA_SETS:
        raise UnknownName(name, known=DATA_SETS, kind="data set")
    return DATA_SETS[name]
