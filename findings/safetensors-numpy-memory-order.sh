#!/bin/sh
# safetensors 0.8.0: safetensors.numpy.save and save_file write the bytes of an array in the order in which they lie in
# memory, beside a shape that readers take as row-major. A transposed or a Fortran-ordered array comes back permuted, and
# of an array that steps over columns other numbers come back. Nothing is raised.
#
# A good guess is that the order of an array is either kept or refused: ndarray.tobytes() gives row-major bytes of any
# array, and safetensors.torch refuses tensors that are not contiguous.
#
# Seen with safetensors 0.8.0 and numpy 2.4.6. Ends with 1 if that changes. It needs python3 with venv, and PyPI.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet safetensors==0.8.0 numpy==2.4.6
"$folder/venv/bin/python" - <<'END'
import sys

import numpy
import safetensors
from safetensors.numpy import load, save

print("safetensors", safetensors.__version__, "numpy", numpy.__version__)
rows = numpy.arange(6, dtype=numpy.float32).reshape(2, 3)
arrays = {
    "row-major": rows,
    "Fortran-ordered": numpy.asfortranarray(rows),
    "transposed": rows.T,
    "every other column": numpy.arange(12, dtype=numpy.float32).reshape(2, 6)[:, ::2],
}
seen = {}
for name, array in arrays.items():
    back = load(save({"a": array}))["a"]
    seen[name] = back.shape == array.shape and bool((back == array).all())
    print(f"{name}: {array.tolist()} comes back as {back.tolist()}")
wanted = {
    "row-major": True,
    "Fortran-ordered": False,
    "transposed": False,
    "every other column": False,
}
sys.exit(0 if seen == wanted else 1)
END
