"""What a command does not use it does not import: importing takes longer than identifying."""

import subprocess
import sys

from tests.processes import ENVIRONMENT

IDENTIFY = """
import sys
from dynid.cli import main
main(["identify", "planar2r", "log.csv", "--friction", "viscous+coulomb+offset", "--json"])
print(*(name for name in sys.argv[1:] if name in sys.modules))
"""
SPARED = (
    "dynid.chain.formats.mjcf", "dynid.regression.constraints.files", "dynid.regression.friction.choice",
    "dynid.regression.retrieval.retrieval", "dynid.workflow.manifest", "h5py", "jaxtyping", "joblib", "numba.np.linalg",
    "pandas", "plotly", "rosbags", "scipy.fft", "scipy.interpolate", "scipy.optimize", "scipy.signal", "scipy.spatial",
    "scipy.special", "scipy.stats",
)  # fmt: skip


def test_a_plain_identification_imports_only_what_it_uses(tmp_path):
    simulate = "from dynid.cli import main; raise SystemExit(main(['simulate', 'planar2r', '--out', 'log.csv']))"
    for program in (simulate, IDENTIFY):
        done = subprocess.run(
            [sys.executable, "-c", program, *SPARED],
            cwd=tmp_path, env=ENVIRONMENT, capture_output=True, text=True, timeout=120,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
    assert (tmp_path / "result" / "report.html").is_file()
    assert done.stdout.splitlines()[-1] == ""
