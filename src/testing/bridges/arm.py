"""An arm on the network that goes to teachpoints: python3 arm.py 192.168.0.23 4001"""

import socket
import sys
import threading

from benchd_bridge import DeviceFailed, Interlock, Transporter


class Arm(Transporter):
    model = "Example 6"
    is_homed = False
    gripper = None  # nobody knows what it holds

    def __init__(self, host, port):
        self.address = (host, int(port))
        self.line = None
        self.lock = threading.Lock()  # held for one question, 2 s at most
        self.halted = threading.Event()

    def ask(self, question, unless_halted=False, anew=False):
        with self.lock:
            if unless_halted and self.halted.is_set():  # nothing begins after a halt
                raise DeviceFailed("it was halted", hint="see where the labware is, then initialize")
            if self.line is None or anew:
                self.line = socket.create_connection(self.address, timeout=1).makefile("rw")
            self.line.write(question + "\n")
            self.line.flush()
            answer = self.line.readline().strip()
        if not answer:
            raise OSError("the arm has closed the connection")
        return answer

    def move(self, what, seconds=0.5):
        self.ask(f"RUN {what} {seconds}", unless_halted=True)
        while self.ask("STATE") == "RUNNING":
            self.halted.wait(0.05)
        if self.halted.is_set():
            raise DeviceFailed("it was halted", hint="see where the labware is, then initialize")

    def home(self):
        self.halted.clear()  # first of all: a halt that comes meanwhile counts
        self.ask("I", anew=True)
        self.move("home")
        self.is_homed = True
        self.gripper = self.gripper or "empty"

    def check(self):
        if self.line is not None:
            self.ask("I")

    def carry(self, point, gripper):
        if point["coords"]["z"] < 0:
            raise Interlock(f"{point['name']} lies below the deck", hint="teach it anew")
        self.move(point["name"])
        self.gripper = gripper
        self.move("up")

    def pick(self, labware, position, point): self.carry(point, "full")
    def place(self, labware, position, point): self.carry(point, "empty")

    def where(self):
        if not self.is_homed:
            return {"state": "unhomed", "gripper": None}
        is_moving = self.ask("STATE") == "RUNNING"
        state = "moving" if is_moving else "stopped" if self.halted.is_set() else "idle"
        return {"state": state, "gripper": self.gripper}

    def halt(self):
        self.halted.set()
        try:
            answer = self.ask("STOP")
        except OSError:  # the connection was lost: once more on a new one
            answer = self.ask("STOP", anew=True)
        if answer != "STOPPED":
            raise DeviceFailed(f"it answers a stop with {answer}", hint="use its red button")


Arm(*sys.argv[1:]).serve()
