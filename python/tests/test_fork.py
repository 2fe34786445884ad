"""Random numbers of forked processes."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here")

PROGRAM = """
import json, multiprocessing, os
import dynet as dy

def drawn(_=None):
    dy.renew_cg()
    m = dy.ParameterCollection()
    return [float(dy.random_normal(1).value()), float(m.add_parameters(1).as_array()[0]),
            dy.dropout(dy.inputVector([1.0] * 20), 0.5).vec_value()]

def in_child(grandchild=False):
    read, write = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.write(write, json.dumps([drawn(), in_child() if grandchild else None]).encode())
        os._exit(0)
    os.close(write)
    with os.fdopen(read) as pipe:
        text = pipe.read()
    os.waitpid(pid, 0)
    return json.loads(text)

dy.reset_random_seed(7)
before = drawn()
children = [in_child(), in_child(), in_child(grandchild=True)]
after = drawn()
dy.reset_random_seed(7)
again = [drawn(), [in_child(), in_child(), in_child(grandchild=True)], drawn()]
assert again == [before, children, after], "the seed says it all"
dy.reset_random_seed(7)
assert [drawn(), drawn()] == [before, after], "forks change nothing in the parent"
with multiprocessing.get_context("fork").Pool(2) as pool:
    pool.map(drawn, range(4))
grandchild = children[2][1]
print(json.dumps([before, after, grandchild[0], *(child[0] for child in children)]))
"""


def test_children_draw_numbers_of_their_own():
    result = subprocess.run(
        [sys.executable, "-c", PROGRAM], capture_output=True, text=True, check=False
    )
    assert result.returncode == 0, result.stderr
    draws = json.loads(result.stdout)
    for kind in range(3):
        assert len({str(draw[kind]) for draw in draws}) == len(draws) == 6
