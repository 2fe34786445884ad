#!/bin/sh
# flash-semicrf 0.2.0: SemiMarkovCRFHead subtracts from the scores of each label their mean over the steps, before it
# sums over divisions into segments, computes a loss or decodes. What all steps say together is lost: where label 1
# scores 5 more than label 0 at each of three steps, both labels have the same loss, and label 0 is decoded. Padding
# counts as steps, so that the loss and the labels of a sequence depend on the length of the longest sequence in its
# batch. Nothing is said. A sequence of one step keeps its scores.
#
# A good guess is the loss of the documentation, log Z - score(y*), of the scores as they were given. The project's FAQ
# says that centring shifts the reported values, and that gradients and training stay valid.
#
# Seen with flash-semicrf 0.2.0 and torch 2.15.0, on a CPU. Ends with 1 if that changes. It needs python3 with venv, and
# PyPI.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet torch==2.15.0 flash-semicrf==0.2.0 numpy==2.4.6
cat >"$folder/scores.py" <<'END'
import sys
import warnings
from importlib.metadata import version

warnings.simplefilter("ignore")
import torch
from flash_semicrf import SemiMarkovCRFHead

# Segments of one step and no other scores than those below: each step stands for itself.
crf = SemiMarkovCRFHead(num_classes=2, max_duration=1)
for parameter in crf.parameters():
    torch.nn.init.zeros_(parameter)


def odds(scores, lengths):
    """Of label 1 at all steps of the first sequence against label 0 at all steps, as a logarithm."""
    labels = [torch.full(scores.shape[:2], label) for label in (0, 1)]
    lengths = torch.tensor(lengths)
    losses = [crf.compute_loss(scores, lengths, one, reduction="none")[0].item() for one in labels]
    return round(losses[0] - losses[1], 4)


def decoded(scores, lengths):
    """Labels of the first sequence."""
    return [part.label for part in crf.decode_with_traceback(scores, torch.tensor(lengths)).segments[0]]


alone = torch.tensor([[[0.0, 5.0]] * 3])
padded = torch.cat([alone, torch.zeros(1, 3, 2)], 1)
both = torch.cat([padded, torch.zeros(1, 6, 2)])  # beside a sequence of six steps
print("flash-semicrf", version("flash-semicrf"), "torch", torch.__version__)
print("scores of each of three steps: 0 for label 0, 5 for label 1")
print("log odds of label 1 at all steps:", odds(alone, [3]), "instead of 15.0; decoded:", decoded(alone, [3]))
print("beside a sequence of six steps:", odds(both, [3, 6]), "and", decoded(both, [3, 6]))
is_seen = odds(alone, [3]) == 0.0 and decoded(alone, [3]) == [0, 0, 0]
sys.exit(0 if is_seen and odds(both, [3, 6]) == 7.5 and decoded(both, [3, 6]) == [1, 1, 1] else 1)
END
"$folder/venv/bin/python" "$folder/scores.py"
