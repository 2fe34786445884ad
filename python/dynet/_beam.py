"""Beam search as a task of `run_together`: `beam_search_task`."""

from __future__ import annotations

from _dynet import Expression, Hypothesis, _Beam, evaluating

from ._told import told

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Generator
    from typing import Any

    from ._told import Whole


@told
def beam_search_task(
    step: Callable[[Any, int], tuple[Any, Expression]],
    start: Any,
    first: Whole,
    end: Whole,
    *,
    width: Whole = 4,
    max_length: Whole = 100,
    n_best: Whole = 1,
    length_norm: Callable[[int], float] | None = None,
    prune: float = float("inf"),
) -> Generator[Expression, Any, list[Hypothesis]]:
    """`beam_search` as a task of `run_together`: the searches of many sentences go on together.

        found = dy.run_together(dy.beam_search_task(step, start(s), BEGIN, END) for s in sentences)

    A step of all hypotheses of all searches is computed together. Within a task of your own write
    ``best = yield from dy.beam_search_task(...)``. There are no `checkpoints`, which would remove
    nodes of other tasks. Errors are those of `beam_search`, when the task runs.
    """
    beam = _Beam(end, width, max_length, n_best, length_norm, prune)
    states = [start]
    while beam.is_open():
        with evaluating():  # not at the question: other tasks may have dropout
            after = [
                beam.step(step, state, first if word is None else word)
                for state, word in zip(states, beam.words())
            ]
            question = beam.question([logs for _, logs in after])
        yield question
        states = [after[i][0] for i in beam.advance(question)]
    return beam.best()
