"""A balance on a serial port: python3 balance.py /dev/ttyUSB0"""

import os
import select
import sys
import threading
import time
import tty

from benchd_bridge import Bridge, DeviceFailed, operation, reading


class Balance(Bridge):
    type = "scale"
    model = "Example 220"

    def __init__(self, path):
        self.path = path
        self.port = None
        self.lock = threading.Lock()  # held for one question
        self.halted = threading.Event()

    def ask(self, line):
        with self.lock:
            return self.asked(line)

    def asked(self, line):
        if self.port is None:
            self.port = os.open(self.path, os.O_RDWR | os.O_NOCTTY)
            tty.setraw(self.port)
        os.write(self.port, line.encode() + b"\n")
        answer, latest = b"", time.monotonic() + 1
        while not answer.endswith(b"\n"):
            if not select.select([self.port], [], [], max(0, latest - time.monotonic()))[0]:
                raise OSError("the balance does not answer")
            answer += os.read(self.port, 100)
        return answer.decode().strip()

    def close(self):
        if self.port is not None:
            os.close(self.port)
            self.port = None

    def initialize(self):
        self.halted.clear()  # first of all: a halt that comes meanwhile counts
        with self.lock:
            self.close()
            self.serial_number = self.asked("I").split()[1]

    def check(self):
        if self.port is not None:
            self.ask("I")

    @reading("g")
    def weight(self):
        return float(self.ask("W").split()[1])

    @operation(seconds=3, leaves_on=None, minimum={"times": 1}, maximum={"times": 10})
    def weigh(self, times: int = 3) -> dict:
        """Weigh several times, and return the mean in g"""
        grams = []
        for _ in range(times):
            if self.halted.wait(0.1):
                raise DeviceFailed("it was halted", hint="initialize it")
            grams.append(self.weight())
        return {"grams": sum(grams) / times}

    def halt(self):
        self.halted.set()
        with self.lock:
            try:
                answer = self.asked("STOP")
            except OSError:  # the port was lost: once more on a new one
                self.close()
                answer = self.asked("STOP")
        if answer != "STOPPED":
            raise DeviceFailed(f"it answers a stop with {answer}", hint="switch it off")


Balance(sys.argv[1]).serve()
