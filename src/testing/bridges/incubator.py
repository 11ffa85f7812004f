"""An incubator on the network: python3 incubator.py 192.168.0.22 4001"""

import socket
import sys
import threading
from typing import Optional

from benchd_bridge import Bridge, DeviceFailed, operation


class Incubator(Bridge):
    type = "incubator"
    model = "Example 42"

    def __init__(self, host, port):
        self.address = (host, int(port))
        self.line = None
        self.lock = threading.Lock()  # held for one question, 2 s at most
        self.halted = threading.Event()

    def ask(self, question, unless_halted=False, anew=False):
        with self.lock:
            if unless_halted and self.halted.is_set():  # nothing begins after a halt
                raise DeviceFailed("it was halted", hint="initialize it")
            if self.line is None or anew:
                self.line = socket.create_connection(self.address, timeout=1).makefile("rw")
            self.line.write(question + "\n")
            self.line.flush()
            answer = self.line.readline().strip()
        if not answer:
            raise OSError("the incubator has closed the connection")
        return answer

    def initialize(self):
        self.halted.clear()  # first of all: a halt that comes meanwhile counts
        self.serial_number = self.ask("I", anew=True).split()[1]

    def check(self):
        if self.line is not None:
            self.ask("I")

    def temperature(self):
        _, value, target = self.ask("T").split()
        return float(value), float(target)

    @operation(seconds=5, leaves_on="heat", units={"temperature": "°C"}, minimum={"temperature": 4}, maximum={"temperature": 70})
    def set_temperature(self, temperature: Optional[float]) -> None:
        """Heat or cool the chamber; None switches that off"""
        self.ask(f"HEAT {20 if temperature is None else temperature}", unless_halted=True)

    @operation(seconds=("duration", 5), units={"duration": "s"}, minimum={"duration": 0.5}, maximum={"duration": 86400})
    def shake_plates(self, duration: float) -> None:
        """Shake the plates in the chamber"""
        self.ask(f"RUN shake {duration}", unless_halted=True)
        while self.ask("STATE") == "RUNNING":
            self.progress(message="shaking")
            self.halted.wait(0.05)
        if self.halted.is_set():
            raise DeviceFailed("it was halted", hint="initialize it")

    def halt(self):
        self.halted.set()
        try:
            answer = self.ask("STOP")
        except OSError:  # the connection was lost: once more on a new one
            answer = self.ask("STOP", anew=True)
        if answer != "STOPPED":
            raise DeviceFailed(f"it answers a stop with {answer}", hint="switch it off")


Incubator(*sys.argv[1:]).serve()
