"""The command line: `tautomer` and `python -m tautomer`."""

import signal
import sys

from ._core import cli


def main() -> int:
    """Runs the command named by the arguments of the process."""
    # The work does not return to Python before it is done, so Ctrl-C has to end the process.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    return cli(["tautomer", *sys.argv[1:]])


if __name__ == "__main__":
    sys.exit(main())
