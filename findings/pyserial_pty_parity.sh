#!/usr/bin/env bash
# pyserial: on a pseudo-terminal, a port that was opened with parity or with seven data bits takes no other time-out.
#
# One would guess: a port that opens with 8E1 has taken 8E1, and `port.timeout = 1` changes only how long a read of pyserial waits.
# What happens: opening succeeds, and setting `timeout` fails with EINVAL. `timeout` sets all of the line anew.
#   A pseudo-terminal of Linux keeps neither parity nor seven bits. `tcsetattr` succeeds if it could make any of the changes: at the opening there are
#   others; afterwards the parity is the only one, and it cannot be made.
# Consequence: a program that changes the time-out of its port, as many libraries do, works on an instrument with 8E1, and not on a simulator behind a
#   pseudo-terminal. The simulator can do nothing about that: open the port with 8N1 there.
# Versions: pyserial 3.5, Python 3.11, glibc 2.36, Linux 6.18. Source: seen by running this; pyserial 3.5, serial/serialutil.py (`timeout`) and
#   serial/serialposix.py (`_reconfigure_port`).
# Output seen:
#   8N1 opens, and the time-out changes
#   8E1 opens, and the time-out fails with EINVAL
#   7N1 opens, and the time-out fails with EINVAL
# Exits 0 when it happens as described, 1 when that has changed.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv venv
venv/bin/pip install --quiet pyserial==3.5
cat >trial.py <<'PY'
import errno
import os
import pty
import termios

import serial


def outcome(bits, parity):
    near, far = pty.openpty()
    port = serial.Serial(os.ttyname(far), 9600, bytesize=bits, parity=parity, timeout=5)
    try:
        port.timeout = 1
        return "the time-out changes"
    except termios.error as error:
        return f"the time-out fails with {errno.errorcode[error.args[0]]}"


seen = [(f"{bits}{parity}1", outcome(bits, parity)) for bits, parity in ((8, "N"), (8, "E"), (7, "N"))]
for line, what in seen:
    print(f"{line} opens, and {what}")
fails = "the time-out fails with EINVAL"
raise SystemExit(0 if [what for _, what in seen] == ["the time-out changes", fails, fails] else 1)
PY
venv/bin/python trial.py
