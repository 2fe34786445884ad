#!/bin/sh
# worderrorrate 0.1.2 with NumPy 2: the substitutions of a whole corpus are counted in eight bits, so that 256 of them
# count as 0. The word error rate of 256 sentences of four words, with one wrong word in each, is 0 instead of 0.25;
# with 300 of these sentences it is 0.037. The only sign is a RuntimeWarning of NumPy, "overflow encountered in scalar
# add". With NumPy 1.26 the same calls are right: there, the sum of Python's 0 and a number of eight bits has 64 bits.
#
# A good guess is that the rate depends on the sentences only: the package asks for any version of NumPy.
#
# Seen with worderrorrate 0.1.2, numpy 2.4.6 and numpy 1.26.4. Ends with 1 if that changes. It needs python3.11 with
# venv, and PyPI.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cat >"$folder/rate.py" <<'END'
import sys
from importlib.metadata import version

import worderrorrate


def rate(sentences):
    total = worderrorrate.WERs()
    for _ in range(sentences):
        total.append("the dog barks loudly".split(), "the dog barks aloud".split())
    return total.wer()


rates = [round(float(rate(sentences)), 4) for sentences in (255, 256, 300)]
print("worderrorrate", version("worderrorrate"), "numpy", version("numpy"))
print("word error rates of 255, 256 and 300 sentences, each with one of four words wrong:", rates)
wanted = [0.25] * 3 if version("numpy").startswith("1.") else [0.25, 0.0, 0.0367]
sys.exit(0 if rates == wanted else 1)
END
for numpy in 1.26.4 2.4.6; do
  python3.11 -m venv "$folder/numpy-$numpy"
  "$folder/numpy-$numpy/bin/pip" install --quiet worderrorrate==0.1.2 "numpy==$numpy"
  "$folder/numpy-$numpy/bin/python" "$folder/rate.py"
done
