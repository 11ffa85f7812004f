#!/usr/bin/env bash
# The SDK of UFACTORY's xArm: `emergency_stop()` ends in the same way whether the stop reached the arm or not, and leaves the arm stopped.
#
# One would guess: `emergency_stop()` returns a code as other commands do, or raises, when there is no connection. Its documentation says that it is
#   `set_state(4) -> motion_enable(True) -> set_state(0)`, after which the arm would be ready for moves again.
# What happens: it returns None, also without a connection, where `set_state(4)` returns -1. It calls `set_state(4)` and nothing else, so the
#   arm stays in state 4, and refuses moves until somebody calls `set_state(0)`.
# Consequence: `XArm6.halt()` of PyLabRobot (main of 2026-08-21), which calls it, ends well although nothing was stopped. A program that must know
#   calls `set_state(4)`, looks at its code, and asks `get_state()`.
# Versions: xarm-python-sdk 1.18.4 (commit 76c8800 of https://github.com/xArm-Developer/xArm-Python-SDK), Python 3.11. Source: seen by running this;
#   https://github.com/xArm-Developer/xArm-Python-SDK/blob/master/doc/api/xarm_api.md, `emergency_stop`.
# Output seen:
#   without a connection: emergency_stop() None, set_state(4) -1
#   it calls: set_state(4)
# Exits 0 when it happens as described, 1 when that has changed. `XARM_SDK` may name a checkout, which is used instead of the package.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python=python3
if [ -z "${XARM_SDK:-}" ]; then
  python3 -m venv venv
  venv/bin/pip install --quiet xarm-python-sdk==1.18.4
  python=venv/bin/python
fi
cat >trial.py <<'PY'
from xarm.wrapper import XArmAPI

arm = XArmAPI("127.0.0.1", do_not_open=True)
stopped, code = arm.emergency_stop(), arm.set_state(4)
print(f"> without a connection: emergency_stop() {stopped}, set_state(4) {code}")

calls = []
arm._arm.set_state = lambda state=0: calls.append(f"set_state({state})") or 0
arm._arm.motion_enable = lambda *_, **__: calls.append("motion_enable(True)") or 0
arm.emergency_stop()
print(f"> it calls: {', '.join(calls)}")
raise SystemExit(0 if (stopped, code, calls) == (None, -1, ["set_state(4)"]) else 1)
PY
# The SDK prints what it does, and writes a log into the home folder.
HOME=$folder PYTHONPATH=${XARM_SDK:-} $python trial.py | sed -n 's/^> //p'
