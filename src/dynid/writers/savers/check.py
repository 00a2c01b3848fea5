"""The files of a consistency check: the certificate, and the consistent robot as a model."""

from __future__ import annotations

import json
from pathlib import Path

from dynid.disk import refuse_replacing, write_whole
from dynid.prose import plain
from dynid.regression.constraints.cones import smat
from dynid.regression.feasible.certificate import ProvenFeasible, ProvenInfeasible
from dynid.regression.model_file import joint_model_out, save_model
from dynid.workflow.check import ConsistencyCheck
from dynid.writers.savers.saved import Saved, Saver, marked

__all__: list[str] = []

CERTIFICATE_FORMAT = "dynid-certificate/1"
"""Name and version of the certificate file."""


def _write(result: ConsistencyCheck, folder: Path) -> Saved:
    files = {"certificate": folder / "certificate.json", "model": folder / "model.json"}
    refuse_replacing(result.inputs, (), unasked=marked(files.values()))
    text = json.dumps(plain(_content(result)), indent=1, ensure_ascii=False, allow_nan=False) + "\n"
    write_whole(files["certificate"], text)
    save_model(result.identified, files["model"])
    return Saved(files)


def _content(result: ConsistencyCheck) -> dict[str, object]:
    """Everything that somebody else needs to verify the proof."""
    content: dict[str, object] = {
        "format": CERTIFICATE_FORMAT,
        "robot": result.model.robot.name,
        "checked": result.source,
        "columns": list(result.model.symbols),
        "joint_models": [joint_model_out(joint_model) for joint_model in result.model.joint_models],
        "leading": list(result.base.leading),
        "labels": list(result.base.labels()),
        "K": result.base.K,
        "beta": result.beta,
        **result.json(),
    }
    proof = result.proof
    if isinstance(proof, ProvenFeasible):
        content["theta"] = proof.theta
    if isinstance(proof, ProvenInfeasible):
        blocks = proof.certificate.constraints.compile(result.model).blocks
        content["lambda"] = proof.certificate.lam
        content["multipliers"] = [
            {"condition": list(block.names), "Y": smat(Y) if block.kind == "psd" else Y}
            for block, Y in zip(blocks, proof.certificate.multipliers, strict=False)
        ]
    return content


SAVER = Saver(_write)
