from __future__ import annotations

import dynet as dy
import pytest


@pytest.fixture(autouse=True)
def _fresh_graph() -> None:
    """Each test starts with the same random numbers and an empty graph."""
    dy.reset_random_seed(1)
    dy.renew_cg()
