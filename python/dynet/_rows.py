"""Rows of tables of other packages, which are known by their methods: none is imported."""

from __future__ import annotations

from collections.abc import Mapping

import _dynet

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any


class Rows:
    """A table as a sequence: a dict from names of columns to values, for each number."""

    def __init__(self, count: int, row: Callable[[int], Any]) -> None:
        self._count, self._row = count, row

    def __len__(self) -> int:
        return self._count

    def __getitem__(self, i: int) -> Any:
        if not 0 <= i < self._count:
            raise IndexError(i)
        return self._row(i)


def rows_of(data: Any) -> Any:
    """The rows of a table of Arrow, pandas or Polars; `data` itself if it is none of these. A
    `Dataset` of Hugging Face gives its rows by itself."""
    if isinstance(data, Mapping) and hasattr(data, "num_rows"):
        splits = ", ".join(f"data[{name!r}]" for name in data)
        raise _dynet.TypeError(f"fit: data is a {type(data).__name__}; want one of {splits}")
    if hasattr(data, "num_rows") and hasattr(data, "to_pylist"):  # pyarrow
        return Rows(data.num_rows, lambda i: data.slice(i, 1).to_pylist()[0])
    if hasattr(data, "iloc"):  # pandas
        if not hasattr(data, "columns"):
            return Rows(len(data), lambda i: data.iloc[i])
        columns = {name: data[name] for name in data.columns}
        return Rows(len(data), lambda i: {name: c.iloc[i] for name, c in columns.items()})
    if hasattr(data, "iter_rows") and hasattr(data, "height"):  # Polars
        return Rows(data.height, lambda i: data.row(i, named=True))
    return data
