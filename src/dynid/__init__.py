"""dynid identifies the dynamics of robot arms: physically consistent parameters from a robot file and logs.

The jobs, each one call that returns a frozen result: `identify`, `examine`, `validate`, `rollout`, `predict`,
`payload`, `friction`, `track`, `live`, `reverse`, `retrieve`, `check`, `excite`, `simulate`, `export`, `campaign`,
`info`, `lint`. `save` writes the files of a result. Everything else is imported from its stage, such as
`dynid.regression`.

Names are imported on first use, so that ``import dynid`` itself costs nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from dynid.lazy import exported_names, lazy_names
from dynid.version import VERSION

__version__ = VERSION

if TYPE_CHECKING:
    from dynid.chain import InertialParameters as InertialParameters
    from dynid.chain import Robot as Robot
    from dynid.chain import lint as lint
    from dynid.chain import load_robot as load_robot
    from dynid.chain import repair as repair
    from dynid.dynamics import BaseParameters as BaseParameters
    from dynid.dynamics import Motion as Motion
    from dynid.dynamics import TorqueModel as TorqueModel
    from dynid.dynamics import base_parameters as base_parameters
    from dynid.errors import DynidError as DynidError
    from dynid.recording import ColumnMap as ColumnMap
    from dynid.recording import Conditioning as Conditioning
    from dynid.recording import Recording as Recording
    from dynid.recording import read_recording as read_recording
    from dynid.regression import OLS as OLS
    from dynid.regression import WLS as WLS
    from dynid.regression import Constraints as Constraints
    from dynid.regression import Estimate as Estimate
    from dynid.regression import Feasible as Feasible
    from dynid.regression import IdentifiedModel as IdentifiedModel
    from dynid.regression import Regression as Regression
    from dynid.regression import Retrieval as Retrieval
    from dynid.regression import Robust as Robust
    from dynid.regression import load_model as load_model
    from dynid.workflow.check import check as check
    from dynid.workflow.examine import examine as examine
    from dynid.workflow.excite import excite as excite
    from dynid.workflow.friction import friction as friction
    from dynid.workflow.identify import identify as identify
    from dynid.workflow.info import info as info
    from dynid.workflow.payload import payload as payload
    from dynid.workflow.prediction import predict as predict
    from dynid.workflow.retrieve import retrieve as retrieve
    from dynid.workflow.reverse import reverse as reverse
    from dynid.workflow.rollout import rollout as rollout
    from dynid.workflow.simulate import simulate as simulate
    from dynid.workflow.track import track as track
    from dynid.workflow.validate import validate as validate
    from dynid.writers.campaign import campaign as campaign
    from dynid.writers.export import export as export
    from dynid.writers.live.serve import live as live
    from dynid.writers.save import save as save

__all__ = exported_names(__name__)  # pyright: ignore[reportUnsupportedDunderAll]
__getattr__ = lazy_names(__name__)


def __dir__() -> list[str]:
    return [*__all__, "__version__"]
