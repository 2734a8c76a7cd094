"""A server must not outlive the attack that started it, however that ends.

python torture/_guard.py COMMAND … runs a command until standard input ends, as it does when the owner is killed.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading


def main() -> None:
    child = subprocess.Popen(sys.argv[1:], stdin=subprocess.DEVNULL, start_new_session=True)
    threading.Thread(target=lambda: os._exit(abs(child.wait())), daemon=True).start()
    sys.stdin.buffer.read()
    os.killpg(child.pid, signal.SIGKILL)


if __name__ == "__main__":
    main()
