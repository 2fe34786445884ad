from __future__ import annotations

import signal

import pytest
from far import DEVICE, LEFT_OUT, PRELUDE

exec(PRELUDE)  # before dynet is imported

import dynet as dy  # noqa: E402

# Jobs in the background of a shell ignore Ctrl-C, and so would the programs that tests start.
signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(autouse=True)
def _fresh_graph() -> None:
    """Each test starts with the same random numbers and an empty graph."""
    dy.reset_random_seed(1)
    dy.renew_cg()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        reason = LEFT_OUT.get(
            item.path.name, LEFT_OUT.get(getattr(item, "originalname", item.name))
        )
        if DEVICE and reason is not None:
            item.add_marker(pytest.mark.skip(reason=f"{DEVICE}: {reason}"))
