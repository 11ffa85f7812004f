#!/usr/bin/env bash
# PyLabRobot's MicroSpin: `abort()` during a spin is sent when the spin has ended.
#
# One would guess: `abort()` ends the spin that runs. Its documentation says that it decelerates the rotor and stops the current operation, and that callers
#   may be interleaved because commands are serialized.
# What happens: `spin()` holds the lock of the connection until the centrifuge answers, at its end. `abort()` waits for that lock. Where the spin is
#   cancelled first, the lock is free, but `abort()` reads until the late answer of the spin before it writes anything: the rotor goes on in both cases.
#   A second object with a connection of its own stops the rotor at once.
# Consequence: the bridge of benchd looks whether a halt has written anything after 0.3 s. If not, it makes the object anew, opens its port, and calls the
#   halt there.
# Versions: PyLabRobot main, commit 598b58ffb of 2026-08-21 (0.2.2), Python 3.11; PyLabRobot's own mock server, whose answers were recorded from a real device.
#   Source: seen by running this; https://github.com/PyLabRobot/pylabrobot, pylabrobot/legacy/centrifuge/highres.
# Output seen:
#   abort() beside the spin: answered after the spin
#   abort() after the spin was cancelled: answered after the spin
#   abort() of a second object: answered at once
# Exits 0 when it happens as described, 1 when that has changed. `PYLABROBOT` may name a checkout, which is used instead of that commit.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python=python3
if [ -z "${PYLABROBOT:-}" ]; then
  python3 -m venv venv
  venv/bin/pip install --quiet "pylabrobot @ git+https://github.com/PyLabRobot/pylabrobot@598b58ffbef97fe33db6e1421b532cc9a389cbcb"
  python=venv/bin/python
fi
cat >trial.py <<'PY'
import asyncio
import time

from pylabrobot.legacy.centrifuge.highres.microspin_backend import MicroSpinBackend
from pylabrobot.legacy.centrifuge.highres.mock_server import MicroSpinMockServer

#: The mock spins 5 ms for each second, and this is more than the time that anything else takes.
SPIN_S, MOCKED_S = 600, 3.0


async def trial(how):
    server = await MicroSpinMockServer().start()
    centrifuge, other = (MicroSpinBackend("127.0.0.1", port=server.port) for _ in range(2))
    await centrifuge.setup()
    await centrifuge.home()
    began = time.monotonic()
    spin = asyncio.ensure_future(centrifuge.spin(g=500, duration=SPIN_S))
    while not server.state.spinning:
        await asyncio.sleep(0.01)
    if how == "after the spin was cancelled":
        spin.cancel()
    if how == "of a second object":
        await other.setup()
        await other.abort()
    else:
        await centrifuge.abort()
    took = time.monotonic() - began
    await asyncio.gather(spin, return_exceptions=True)
    answered = "after the spin" if took > 0.9 * MOCKED_S else "at once"
    print(f"abort() {how}: answered {answered}")
    return answered


async def main():
    hows = ("beside the spin", "after the spin was cancelled", "of a second object")
    return [await trial(how) for how in hows] == ["after the spin", "after the spin", "at once"]


raise SystemExit(0 if asyncio.run(main()) else 1)
PY
PYTHONPATH=${PYLABROBOT:-} $python trial.py
