"""The program ``tenure``: the same Rust code as the binary, in this process."""

from __future__ import annotations

import signal
import sys

from ._tenure import run


def main() -> None:
    """Runs the program with the arguments of the process, and ends with its exit code."""
    # The program handles signals itself, and ends quietly if nobody reads its output.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    sys.exit(run([sys.argv[0], *sys.argv[1:]]))


if __name__ == "__main__":
    main()
