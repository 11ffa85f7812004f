#!/usr/bin/env bash
# PyLabRobot's Serial: after a read that was given up, the next write waits until that read has ended by itself.
#
# One would guess: `asyncio.wait_for(port.readline(), 0.5)` gives the read up after 0.5 s, and the port is free then: the next `write` goes out at once.
#   So its drivers do it, for example BioShake with a read of 60 s that is given up after 2 s.
# What happens: all calls of a port share one thread. The read that was given up goes on in this thread until the time-out of the port itself, and the
#   write waits behind it: with a time-out of 10 s it reaches the instrument 9.5 s later.
# Consequence: a stop after a read that was given up, or after an operation that was cancelled, would come late. The bridge of benchd ends such reads first
#   (`cancel_read` of pyserial).
# Versions: PyLabRobot 0.2.1, and main, commit 598b58ffb of 2026-08-21 (0.2.2); pyserial 3.5, Python 3.11. Source: seen by running this on a
#   pseudo-terminal; https://github.com/PyLabRobot/pylabrobot, pylabrobot/io/serial.py.
# Output seen:
#   the read was given up after 0.5 s
#   the write reached the port more than 8 s later
# Exits 0 when it happens as described, 1 when that has changed. `PYLABROBOT` may name a checkout, which is used instead of the release.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv venv
venv/bin/pip install --quiet pyserial==3.5 typing_extensions websockets
if [ -z "${PYLABROBOT:-}" ]; then venv/bin/pip install --quiet pylabrobot==0.2.1; fi
cat >trial.py <<'PY'
import asyncio
import os
import pty
import time
import tty

from pylabrobot.io.serial import Serial


async def main():
    near, far = pty.openpty()
    tty.setraw(far)
    port = Serial(human_readable_device_name="instrument", port=os.ttyname(far), baudrate=9600, timeout=10)
    await port.setup()
    arrived = asyncio.Event()
    asyncio.get_running_loop().add_reader(near, lambda: (os.read(near, 100), arrived.set()))
    try:
        await asyncio.wait_for(port.readline(), 0.5)
    except asyncio.TimeoutError:
        print("the read was given up after 0.5 s")
    began = time.monotonic()
    write = asyncio.ensure_future(port.write(b"stop\r"))
    await arrived.wait()
    late = time.monotonic() - began
    await write
    print("the write reached the port more than 8 s later" if late > 8 else f"the write reached the port after {late:.1f} s")
    return late > 8


raise SystemExit(0 if asyncio.run(main()) else 1)
PY
PYTHONPATH=${PYLABROBOT:-} venv/bin/python trial.py
