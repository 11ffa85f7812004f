"""A pump on the network, by asyncio: python3 pump.py 192.168.0.21 4001"""

import asyncio
import sys

from benchd_bridge import Bridge, DeviceFailed, operation


class Pump(Bridge):
    type = "pump"
    model = "Example 10"

    def __init__(self, host, port):
        self.address = (host, int(port))
        self.line = None
        self.lock = None  # held for one question, 1 s at most
        self.halted = False

    async def asked(self, question):
        if self.line is None:
            self.line = await asyncio.wait_for(asyncio.open_connection(*self.address), 0.5)
        self.line[1].write(question.encode() + b"\n")
        answer = await asyncio.wait_for(self.line[0].readline(), 1)
        if not answer:
            raise OSError("the pump has closed the connection")
        return answer.decode().strip()

    async def ask(self, question):
        # All methods that are async run in one event loop.
        self.lock = self.lock or asyncio.Lock()
        async with self.lock:
            return await self.asked(question)

    async def run(self, what, seconds):
        if self.halted:
            raise DeviceFailed("it was halted", hint="initialize it")
        await self.ask(f"RUN {what} {seconds}")
        while await self.ask("STATE") == "RUNNING":
            await asyncio.sleep(0.05)
        if self.halted:
            raise DeviceFailed("it was halted", hint="initialize it")

    async def initialize(self):
        self.line, self.halted = None, False
        await self.run("home", 0.5)

    async def check(self):
        if self.line is not None:
            await self.ask("I")

    @operation(seconds=60, units={"volume": "mL", "rate": "mL/min"}, minimum={"volume": 0.1, "rate": 1}, maximum={"volume": 10, "rate": 60})
    async def pump(self, volume: float, rate: float = 20) -> None:
        """Pump a volume"""
        await self.run("pump", volume / rate * 60)

    async def halt(self):
        self.halted = True
        try:
            answer = await self.ask("STOP")
        except (OSError, asyncio.TimeoutError):  # the connection was lost: once more on a new one
            self.line = None
            answer = await self.ask("STOP")
        if answer != "STOPPED":
            raise DeviceFailed(f"it answers a stop with {answer}", hint="close its valve")


Pump(*sys.argv[1:]).serve()
