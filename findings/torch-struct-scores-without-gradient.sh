#!/bin/sh
# torch-struct 0.5 with PyTorch 2.15: the sum over projective trees, DependencyCRF(scores).partition, is a RuntimeError
# ("a view of a leaf Variable that requires grad is being used in an in-place operation") if the scores are a tensor that
# needs no gradient, as in evaluation and within torch.no_grad(). Scores that a network computed with gradients work.
#
# A good guess is that sums need no gradients: the sum over spanning trees, NonProjectiveDependencyCRF, needs none.
#
# Seen with torch-struct 0.5 and torch 2.15.0. Ends with 1 if that changes. It needs python3 with venv, and PyPI.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet torch==2.15.0 torch-struct==0.5 numpy==2.4.6
cat >"$folder/trees.py" <<'END'
import sys
import warnings
from importlib.metadata import version

warnings.simplefilter("ignore")
import torch
from torch_struct import DependencyCRF, NonProjectiveDependencyCRF


def answer(crf, scores):
    try:
        return crf(scores).partition.tolist()
    except RuntimeError as error:
        return f"RuntimeError: {error}"


plain = torch.zeros(1, 3, 3)
computed = torch.zeros(1, 3, 3, requires_grad=True) * 1
print("torch-struct", version("torch-struct"), "torch", torch.__version__)
print("projective trees, plain scores:", answer(DependencyCRF, plain))
print("projective trees, computed scores:", answer(DependencyCRF, computed))
print("spanning trees, plain scores:", answer(NonProjectiveDependencyCRF, plain))
is_seen = isinstance(answer(DependencyCRF, plain), str) and not isinstance(answer(DependencyCRF, computed), str)
sys.exit(0 if is_seen and not isinstance(answer(NonProjectiveDependencyCRF, plain), str) else 1)
END
"$folder/venv/bin/python" "$folder/trees.py"
