"""``python -m dynet``: the programs of `dynet.programs`."""

import sys

from dynet.programs import main

if __name__ == "__main__":
    sys.exit(main())
