#!/bin/sh
# torch-struct 0.5: the sum over spanning trees, NonProjectiveDependencyCRF(scores).partition, is a little too large, and
# the more so for longer sentences: for n words with scores of 0, whose trees are n^(n-1) in number, the logarithm is off
# by 2e-5 at 3 words and by 4e-4 at 40, which is some twenty times the spacing of floats there;
# scores of type double have the same error.
#
# A good guess is an error of the last digits of the type, as the determinant of a matrix of this kind has.
#
# Seen with torch-struct 0.5 and torch 2.15.0. Ends with 1 if that changes. It needs python3 with venv, and PyPI.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet torch==2.15.0 torch-struct==0.5 numpy==2.4.6
cat >"$folder/trees.py" <<'END'
import math
import sys
import warnings
from importlib.metadata import version

warnings.simplefilter("ignore")
import torch
from torch_struct import NonProjectiveDependencyCRF

print("torch-struct", version("torch-struct"), "torch", torch.__version__)
is_seen = True
for words in (3, 40):
    true = (words - 1) * math.log(words)
    for kind in (torch.float32, torch.float64):
        scores = torch.zeros(1, words, words, dtype=kind)
        error = NonProjectiveDependencyCRF(scores).partition.item() - true
        print(f"{words} words, {kind}: log of {words}^{words - 1} is {true:.6f}, the sum is off by {error:.2e}")
        is_seen = is_seen and error > 1e-5
sys.exit(0 if is_seen else 1)
END
"$folder/venv/bin/python" "$folder/trees.py"
