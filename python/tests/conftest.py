from __future__ import annotations

import pytest
from far import DEVICE, LEFT_OUT, PRELUDE

exec(PRELUDE)  # before dynet is imported

import dynet as dy  # noqa: E402


@pytest.fixture(autouse=True)
def _fresh_graph() -> None:
    """Each test starts with the same random numbers and an empty graph."""
    dy.reset_random_seed(1)
    dy.renew_cg()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        reason = LEFT_OUT.get(item.path.name, LEFT_OUT.get(item.name))
        if DEVICE and reason is not None:
            item.add_marker(pytest.mark.skip(reason=f"{DEVICE}: {reason}"))
