"""Runs the cases of one file with the `dynet` of this interpreter; `compare` calls it twice.

    python run_cases.py FILE FUNCTION FIRST

FUNCTION, such as `cases`, gives pairs of a name and a function without arguments. Prints a line of
JSON for each case from number FIRST on: the number before the case runs, so that a crash can be
told, then the result or the types of the error, its own and those that it derives from.
"""

from __future__ import annotations

import importlib.util
import json
import sys
from collections.abc import Callable, Iterable
from pathlib import Path

import numpy as np


def plain(value: object) -> object:
    """Numbers, texts and lists of a result; an array with its shape, in memory order."""
    if isinstance(value, np.ndarray):
        return {
            "shape": list(value.shape),
            "numbers": value.ravel(order="F").astype(float).tolist(),
        }
    if isinstance(value, (np.floating, np.integer)):
        return value.item()
    if isinstance(value, bytes):
        return value.decode()
    if isinstance(value, dict):
        return {str(key): plain(inner) for key, inner in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(inner) for inner in value]
    return value


def load(path: Path, function: str) -> list[tuple[str, Callable[[], object]]]:
    sys.path.insert(0, str(path.parent))
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[path.stem] = module  # pickles name the classes of cases by their module
    spec.loader.exec_module(module)
    found: Iterable[tuple[str, Callable[[], object]]] = getattr(module, function)()
    cases = list(found)
    names = [name for name, _ in cases]
    twice = sorted({name for name in names if names.count(name) > 1})
    assert not twice, f"two cases have one name: {twice}"
    return cases


def say(line: object) -> None:
    print("\n@" + json.dumps(line), flush=True)  # libraries print lines of their own


def main() -> None:
    path, function, first = Path(sys.argv[1]), sys.argv[2], int(sys.argv[3])
    del sys.argv[1:]  # `import dynet` reads the options of the command line
    for number, (name, run) in enumerate(load(path, function)):
        if number < first:
            continue
        say({"begin": number, "name": name})
        try:
            say({"name": name, "result": plain(run())})
        except Exception as error:  # the type is the result
            kinds = [kind.__name__ for kind in type(error).__mro__]
            say({"name": name, "error": kinds[0], "kinds": kinds, "text": str(error)})


if __name__ == "__main__":
    main()
