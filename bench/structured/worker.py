"""Times sums over structures in one library. Prints a line of JSON for each case: the sum of the
logarithms of a batch, and CPU seconds of this value alone and of the value with all gradients.

`run` calls this file in a process of its own for each library, because each has an interpreter of
its own. Both get the same scores, as tensors that a network might have computed; the layout that a
library wants is made within the time.
"""

from __future__ import annotations

import json
import math
import random
import sys
import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

SENTENCES, LONGEST = 16, 8
#: Name, words of each sentence, labels.
CASES = [
    *(("chain of tags", n, c) for n, c in ((10, 20), (30, 20), (30, 50))),
    *(("segments", n, 5) for n in (10, 30)),
    *(("projective trees", n, 0) for n in (10, 20, 40)),
    *(("spanning trees", n, 0) for n in (10, 20, 40)),
    *(("constituents", n, 10) for n in (10, 20, 40)),
]
ROUND_SECONDS, ROUNDS = 0.2, 5


def scores_of(name: str, n: int, labels: int) -> list[Any]:
    """Arrays with the sentences first, and a matrix of transitions for a chain."""
    import numpy as np

    shapes = {
        "chain of tags": [(SENTENCES, n, labels), (labels, labels)],  # transitions: from, to
        "segments": [(SENTENCES, LONGEST, n, labels)],
        "projective trees": [(SENTENCES, n, n + 1)],  # word, head
        "spanning trees": [(SENTENCES, n, n + 1)],
        "constituents": [(SENTENCES, labels, n, n)],  # label, last word, first word
    }
    drawn = random.Random(n + labels)
    return [
        np.array([drawn.uniform(-2, 2) for _ in range(int(np.prod(shape)))], "f4").reshape(shape)
        for shape in shapes[name]
    ]


class DyNet:
    def __init__(self) -> None:
        import dynet as dy

        self.dy = dy

    def calls(self, name: str, n: int, labels: int) -> tuple[Callable[[], float], ...]:
        dy, arrays = self.dy, [a.T for a in scores_of(name, n, labels)]
        sums = {
            "chain of tags": dy.crf_log_partition,
            "projective trees": dy.eisner_log_partition,
            "spanning trees": dy.spanning_tree_log_partition,
            "constituents": dy.cky_log_partition,
        }
        function = sums.get(name) or self.segments(n, labels)

        def loss() -> Any:
            dy.renew_cg()
            self.xs = [dy.inputTensor(a, batched=a.ndim > 2) for a in arrays]
            return dy.sum_batches(function(*self.xs))

        def both() -> float:
            made = loss()
            value = made.value()
            made.backward(full=True)
            self.xs[0].gradient()
            return float(value)

        return lambda: float(loss().value()), both

    def segments(self, n: int, labels: int) -> Callable[[Any], Any]:
        """The loss of one sequence of segments, and their score: the builder has no other sum."""
        dy = self.dy
        semi = dy.SemiCRFBuilder(labels, LONGEST, dy.ParameterCollection())
        for parameter in semi.param_collection().parameters_list():
            parameter.zero()
        segments = [[(0, i, i + 1) for i in range(n)]] * SENTENCES

        def sum_of(scores: Any) -> Any:
            given = dy.sum_elems(dy.pick(dy.pick(scores, 0, 2), 0))
            return semi.neg_log_likelihood(scores, segments) + given

        return sum_of


class TorchStruct:
    def __init__(self) -> None:
        import torch
        import torch_struct

        torch.set_num_threads(1)
        torch.set_flush_denormal(True)
        self.torch, self.library = torch, torch_struct

    def calls(self, name: str, n: int, labels: int) -> tuple[Callable[[], float], ...]:
        torch, library = self.torch, self.library
        xs = [torch.tensor(a, requires_grad=True) for a in scores_of(name, n, labels)]

        def loss() -> Any:
            if name == "chain of tags":
                tags, transitions = xs
                edges = transitions.T + tags[:, 1:, :, None]  # to, from
                first = torch.nn.functional.pad(tags[:, :1, None], (0, 0, 0, 0, 0, n - 2))
                found = library.LinearChainCRF(edges + first)
            elif name == "segments":
                found = library.SemiMarkovCRF(self.segments(xs[0]))
                return found.partition.sum() - SENTENCES * math.log(labels)
            elif name == "constituents":
                found = library.TreeCRF(xs[0].permute(0, 3, 2, 1))
            else:
                arcs = xs[0].transpose(1, 2)  # the root lies on the diagonal
                arcs = torch.where(torch.eye(n, dtype=torch.bool), arcs[:, :1], arcs[:, 1:])
                kind = "DependencyCRF" if name[0] == "p" else "NonProjectiveDependencyCRF"
                found = getattr(library, kind)(arcs, multiroot=False)
            return found.partition.sum()

        def both() -> float:
            value = loss()
            torch.autograd.grad(value, xs)
            return float(value.detach())

        # The library asks for gradients itself: within no_grad() projective trees are an error.
        return lambda: float(loss().detach()), both

    def segments(self, scores: Any) -> Any:
        """A segment of length k has the index k, of which 0 means nothing. The label of the segment
        before does not count; the first segment has one too, by which each sum is too large."""
        labels = scores.shape[-1]
        padded = self.torch.nn.functional.pad(scores.permute(0, 2, 1, 3), (0, 0, 1, 0))
        return padded[..., None].expand(*(-1,) * 4, labels)


LIBRARIES = {"dynet": DyNet, "torch-struct": TorchStruct}


def least_seconds(call: Callable[[], float]) -> float:
    """Of one call."""
    call()
    best = 1e9
    for _ in range(ROUNDS):
        count, begun = 0, time.process_time()
        while (used := time.process_time() - begun) < ROUND_SECONDS:
            call()
            count += 1
        best = min(best, used / count)
    return best


def main() -> None:
    library = LIBRARIES[sys.argv[1]]()
    words = sys.argv[2:]
    for name, n, labels in CASES:
        if words and not any(word in name for word in words):
            continue
        alone, both = library.calls(name, n, labels)
        row: dict[str, Any] = {"case": [name, n, labels], "value": both()}
        row |= {"value_seconds": least_seconds(alone), "seconds": least_seconds(both)}
        print(json.dumps(row), flush=True)


if __name__ == "__main__":
    main()
