"""Programs for data in files: ``dynet train tagger``, ``dynet tag``, ``dynet evaluate``.

``python -m dynet`` is the same. `load` gives the model to a program. `main` returns the exit
status: 0, 2 for a mistake in the options or in a file, for an output that cannot be written, or
without NumPy, 130 after Ctrl-C.
"""

from __future__ import annotations

import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

__all__ = ["load", "main"]


def main(arguments: list[str] | None = None) -> int:
    """Runs a command; `arguments` are those of the process by default."""
    status = _run(sys.argv[1:] if arguments is None else arguments)
    try:
        if sys.stdout is not None:
            sys.stdout.flush()
    except OSError as error:
        # From Python 3.14 on a text that could not be written is tried again.
        if status == 0 and not isinstance(error, BrokenPipeError):
            print(f"dynet: standard output: {error.strerror}", file=sys.stderr)
            status = 2
        sys.stdout = None  # the interpreter flushes once more at its end
    return status


def load(name: str) -> Any:
    """The model of ``dynet train`` in a file, which may be named without ``.safetensors``. IoError
    for another file.

    ``load(name).tag(sentences)`` gives pairs of a sentence and its answers.
    """
    from ._jobs import load_model

    return load_model(name)


def _run(arguments: list[str]) -> int:
    import dynet as dy
    from dynet._program import complain

    from ._options import OptionError, parse

    command = ""
    try:
        options = parse(arguments)
        command = options.command
        from . import _jobs

        getattr(_jobs, command)(options)
    except BrokenPipeError:  # the reader of the output has enough
        if command != "train":
            return 0
        print("dynet: stopped, as nobody reads the output; go on by --resume", file=sys.stderr)
        return 2
    except (OptionError, dy.Error, OSError, ImportError) as error:
        complain(error)
        return 2
    except KeyboardInterrupt:
        print("dynet: stopped", file=sys.stderr)
        return 130
    return 0
