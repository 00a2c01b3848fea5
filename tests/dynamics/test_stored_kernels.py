"""Kernels that were compiled before are read from disk, without getting numba's compiler ready."""

import subprocess
import sys

from tests.processes import ENVIRONMENT

READ = """
import sys
from dynid import TorqueModel, base_parameters, load_robot
base_parameters(TorqueModel(load_robot("planar2r")))
print("numba.np.linalg" in sys.modules)
"""


def test_a_compiled_kernel_needs_no_compiler():
    for _ in range(2):  # compiled by the first, where it was not yet
        done = subprocess.run(
            [sys.executable, "-c", READ], env=ENVIRONMENT, capture_output=True, text=True, check=True, timeout=120
        )
    assert done.stdout.strip() == "False"
