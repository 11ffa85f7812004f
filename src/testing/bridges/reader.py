"""A plate reader on the network: python3 reader.py 192.168.0.20 4001"""

import socket
import sys
import threading
from typing import Literal

from benchd_bridge import Bridge, Busy, DeviceFailed, operation


class Reader(Bridge):
    type = "reader"
    model = "Example 96"

    def __init__(self, host, port):
        self.address = (host, int(port))
        self.line = None
        self.lock = threading.Lock()  # held for one question, 2 s at most
        self.halted = threading.Event()

    def asked(self, question):
        if self.line is None:
            self.line = socket.create_connection(self.address, timeout=1).makefile("rw")
        self.line.write(question + "\n")
        self.line.flush()
        answer = self.line.readline().strip()
        if not answer:
            raise OSError("the reader has closed the connection")
        return answer

    def ask(self, question):
        with self.lock:
            return self.asked(question)

    def begin(self, question):
        with self.lock:
            if self.halted.is_set():  # nothing begins after a halt
                raise DeviceFailed("it was halted", hint="initialize it")
            if self.asked(question) == "BUSY":
                raise Busy("it is doing something else")
        while self.ask("STATE") == "RUNNING":
            self.halted.wait(0.05)
        if self.halted.is_set():
            raise DeviceFailed("it was halted", hint="initialize it")

    def initialize(self):
        self.halted.clear()  # first of all: a halt that comes meanwhile counts
        with self.lock:
            self.line = None
            self.serial_number = self.asked("I").split()[1]
        self.begin("RUN home 0.5")

    def check(self):
        if self.line is not None:
            self.ask("I")

    @operation(seconds=30, units={"wavelength": "nm"}, minimum={"wavelength": 230}, maximum={"wavelength": 1000})
    def read(self, wavelength: int = 600, speed: Literal["fast", "exact"] = "fast") -> dict:
        """Read the absorbance of a plate"""
        self.begin(f"RUN read {0.3 if speed == 'fast' else 1}")
        self.attach(b"well,absorbance\nA1,0.25\n", "plate.csv", media_type="text/csv")
        return {"wavelength": wavelength, "absorbance": [0.25, 0.31]}

    def halt(self):
        self.halted.set()
        with self.lock:
            try:
                answer = self.asked("STOP")
            except OSError:  # the connection was lost: once more on a new one
                self.line = None
                answer = self.asked("STOP")
        if answer != "STOPPED":
            raise DeviceFailed(f"it answers a stop with {answer}", hint="switch it off")


Reader(*sys.argv[1:]).serve()
