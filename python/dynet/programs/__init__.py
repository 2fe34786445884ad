"""Programs for data in files: ``dynet train tagger``, ``dynet tag``, ``dynet evaluate``.

``python -m dynet`` is the same. `main` returns the exit status: 0, 2 for a mistake in the options
or in a file, or without NumPy, 130 after Ctrl-C.
"""

from __future__ import annotations

import sys

__all__ = ["main"]


def main(arguments: list[str] | None = None) -> int:
    """Runs a command; `arguments` are those of the process by default."""
    import dynet as dy

    from ._options import OptionError, parse

    try:
        options = parse(sys.argv[1:] if arguments is None else arguments)
        from . import _jobs

        getattr(_jobs, options.command)(options)
    except BrokenPipeError:  # the reader of the output has enough
        sys.stdout = None
        return 0
    except (OptionError, dy.Error, OSError, ImportError) as error:
        # The line of a program says nothing to people who wrote none.
        print(f"dynet: {str(error).partition(chr(10) + '  called at ')[0]}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("dynet: stopped", file=sys.stderr)
        return 130
    return 0
