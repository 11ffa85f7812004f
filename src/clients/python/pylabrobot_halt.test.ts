// The halt of a class of PyLabRobot behind a bridge: on ports that go, come back, hang and are replaced, and beside what cannot be ended.

import { spawnSync } from 'node:child_process'
import { mkdirSync, writeFileSync } from 'node:fs'
import { dirname } from 'node:path'
import { programFile } from '../../testing/bridges.ts'
import { withPython } from '../../testing/python.ts'

/** A stand-in of PyLabRobot's ports: an instrument that begins to move at `go`, stands at `halt`, and is held by one port at a time. */
const port = `
import asyncio

class World:
    log, moving, plugged, holder, is_deaf = [], False, True, None, False
world = World()

class Port:
    async def setup(self):
        if not world.plugged: raise OSError("no such port")
        if world.holder is not None: raise OSError("the port is busy")
        world.holder = self
        world.log.append("open")
    async def stop(self):
        if world.holder is self: world.holder = None
    async def write(self, data):
        if not world.plugged or world.holder is not self: raise OSError("gone")
        self.sent(data)
    def sent(self, data):
        world.log.append(data)
        if not world.is_deaf: world.moving = data == "go" or (world.moving and data != "halt")
    async def read(self):
        if world.is_deaf: raise TimeoutError("no answer")
        return b"ok"

class SyncPort(Port):
    def setup(self): world.holder = self
    def stop(self): world.holder = None
    def write(self, data): self.sent(data)
`

const head = `
import asyncio, json, os, sys, threading
import benchd_bridge_pylabrobot as library
from pylabrobot.io.port import Port, SyncPort, world
library._CLOSE_S, library._HALT_S, library._AGAIN_S, library._ANSWER_S = 0.1, 0.3, 0.01, 0.1

class Device:
    def __init__(self): self.io = Port()
    async def setup(self): await self.io.setup(); await self.io.write("home")
    async def stop(self): await self.io.stop()
    async def abort(self): await self.io.write("halt")
    async def move(self): await self.io.write("go"); await asyncio.Event().wait()

def bridge(make):
    made = library.pylabrobot_bridge(make)
    made.does = lambda name: asyncio.ensure_future(made.run(getattr(made.machine.device, name), {}))
    return made
async def outcome(work):
    try: await work
    except Exception as error: return str(error)
    return "done"
async def until(condition):
    while not condition(): await asyncio.sleep(0.001)
def say(*values): print(json.dumps([*values, {"moving": world.moving}]), file=sys.__stdout__)
async def main():
`

const cases: [title: string, body: string, said: unknown[]][] = [
  [
    'a write that is not async reaches the instrument',
    `
    class Sync(Device):
        def __init__(self): self.io = SyncPort()
        async def setup(self): self.io.setup()
        async def stop(self): self.io.stop()
        async def abort(self): self.io.write("halt")
        async def start(self): self.io.write("go")
    it = bridge(Sync)
    await it.initialize()
    await it.does("start")
    say(world.moving, await outcome(it.halt()))`,
    [true, 'done', { moving: false }],
  ],
  [
    'a port that setup makes is closed before another one is opened',
    `
    class Replacing(Device):
        async def setup(self): self.io = Port(); await self.io.setup()
    it = bridge(Replacing)
    await it.initialize()
    world.plugged = False
    failed = await outcome(it.halt())
    world.plugged = True
    say(failed, await outcome(it.halt()), await outcome(it.initialize()))`,
    ['its port cannot be opened: OSError: no such port; see its cable', 'done', 'done', { moving: false }],
  ],
  [
    'a port that was opened alone is closed by initialize, also where the stop of the class does nothing without a setup',
    `
    class Careful(Device):
        is_set_up = False
        async def setup(self): await super().setup(); self.is_set_up = True
        async def stop(self):
            if self.is_set_up: await self.io.stop()
    it = bridge(Careful)
    say(await outcome(it.halt()), await outcome(it.initialize()))`,
    ['done', 'done', { moving: false }],
  ],
  [
    'a class that can be made only once is halted by its old object, or by a new program',
    `
    made = []
    class Once(Device):
        def __init__(self):
            if made: raise RuntimeError("there is one already")
            made.append(self); super().__init__()
    def exits(code): raise RuntimeError(f"the program ends with {code}")
    os._exit = exits
    it = bridge(Once)
    await it.initialize()
    world.plugged = False
    failed = await outcome(it.halt())
    world.plugged = True
    say(failed, await outcome(it.halt()))`,
    ['the program ends with 1', 'done', { moving: false }],
  ],
  [
    'a halt that takes longer than its answer may is confirmed by the next one, and not begun again',
    `
    begun = asyncio.Event()
    class Slow:
        async def setup(self): world.log.append("setup"); await begun.wait()
        async def stop(self): pass
        async def abort(self): world.log.append("halt")
    it = bridge(Slow)
    failed = await outcome(it.halt())
    begun.set()
    await until(lambda: "halt" in world.log)
    say(failed, await outcome(it.halt()), await outcome(it.halt()), world.log)`,
    ['it is not halted after 0 s, which is still tried', 'done', 'done', ['setup', 'halt', 'halt'], { moving: false }],
  ],
  [
    'a method in a thread that begins motions after the halt is halted again before the stop is confirmed',
    `
    goes_on = threading.Event()
    class Threaded(Device):
        def move(self): world.moving = True; world.log.append("go"); goes_on.wait(); world.moving = True
    it = bridge(Threaded)
    await it.initialize()
    moving = it.does("move")
    await until(lambda: "go" in world.log)
    failed = await outcome(it.halt())
    goes_on.set()
    say(failed, await outcome(it.halt()), await outcome(moving))`,
    ['it is not halted after 0 s, which is still tried', 'done', 'done', { moving: false }],
  ],
  [
    'an operation that is not cancelled is halted again before the stop is confirmed',
    `
    class Stubborn(Device):
        async def move(self):
            await self.io.write("go")
            for _ in range(3):
                try: await asyncio.sleep(0.15)
                except asyncio.CancelledError: pass
                await self.io.write("go")
    library._HALT_S = 30
    it = bridge(Stubborn)
    await it.initialize()
    moving = it.does("move")
    await until(lambda: world.moving)
    say(await outcome(it.halt()), moving.done())`,
    ['done', true, { moving: false }],
  ],
  [
    'a setup that goes on with its motion in an old object is halted again before the stop is confirmed',
    `
    class Homing(Device):
        async def setup(self):
            for _ in range(3):
                world.moving = True
                try: await asyncio.sleep(0.15)
                except asyncio.CancelledError: pass
            await self.io.setup()
    library._HALT_S = 30
    it = bridge(Homing)
    homing = asyncio.ensure_future(it.initialize())
    await until(lambda: world.moving)
    said = await outcome(it.halt())
    await outcome(homing)
    say(said)`,
    ['done', { moving: false }],
  ],
  [
    'a halt that takes a while until its first byte is sent comes through on a port that was opened anew',
    `
    library._HALT_S = 30
    class Late(Device):
        async def abort(self): await asyncio.sleep(0.4); await self.io.write("halt")
    it = bridge(Late)
    await it.initialize()
    say(await outcome(it.halt()), world.log.count("home"))`,
    ['done', 1, { moving: false }],
  ],
  [
    'a port that comes back while it is opened is not set up, which would move the instrument',
    `
    class Away(Port):
        async def setup(self):
            was_plugged, world.plugged = world.plugged, True
            if not was_plugged: raise OSError("timed out")
            await super().setup()
    class OnNetwork(Device):
        def __init__(self): self.io = Away()
    world.plugged = False
    it = bridge(OnNetwork)
    say(await outcome(it.halt()), list(world.log), await outcome(it.halt()), world.log)`,
    ['its port cannot be opened: OSError: timed out; see its cable', ['open'], 'done', ['open', 'open', 'halt'], { moving: false }],
  ],
  [
    'a simulation that never opens its port is halted without it',
    `
    class Simulation(Device):
        async def setup(self): pass
        async def abort(self): world.log.append("printed")
    world.plugged = False
    it = bridge(Simulation)
    say(await outcome(it.halt()), world.log)`,
    ['done', ['printed'], { moving: false }],
  ],
  [
    'a read that cannot be cancelled keeps no halt from being called',
    `
    class Closed:
        def cancel_read(self): raise OSError("bad file descriptor")
    it = bridge(Device)
    it.machine.device.io._ser = Closed()
    await it.initialize()
    say(await outcome(it.halt()), world.log)`,
    ['done', ['open', 'home', 'halt'], { moving: false }],
  ],
  [
    'a halt that sends nothing is not confirmed by what the class sends in the background',
    `
    library._HALT_S = 30
    class Flagged(Device):
        is_moving = False
        async def setup(self): await super().setup(); self.alive = asyncio.ensure_future(self.keep_alive())
        async def keep_alive(self):
            while True: await self.io.write("alive"); await asyncio.sleep(0)
        async def abort(self):
            await asyncio.sleep(0.01)
            if self.is_moving: await self.io.write("halt")
    world.moving = True
    it = bridge(Flagged)
    say(await outcome(it.halt()))`,
    ['abort has sent nothing', { moving: true }],
  ],
  [
    'a halt that waits for no answer is confirmed by the answer to a question, and not set up for it',
    `
    library._HALT_S = 30
    class Silent(Device):
        async def request_status(self): await self.io.write("?"); await self.io.read()
    it = bridge(Silent)
    await it.initialize()
    world.moving = world.is_deaf = True
    failed = await outcome(it.halt())
    world.is_deaf = False
    say(failed, world.log.count("home"), await outcome(it.halt()))`,
    ['its halt was sent, and then request_status was not answered; see its cable', 1, 'done', { moving: false }],
  ],
  [
    'a port that all objects share is watched once, and nothing is left of a hundred halts',
    `
    shared = Port()
    class Sharing(Device):
        def __init__(self): self.io = shared
        async def abort(self): raise OSError("no answer")
    library._HALT_S = 30
    it = bridge(Sharing)
    await it.initialize()
    threads = threading.active_count()
    for _ in range(100): await outcome(it.halt())
    depth, write = 0, shared.write
    while getattr(write, "__watcher__", None): depth, write = depth + 1, next(cell.cell_contents for cell in write.__closure__ if callable(cell.cell_contents) and cell.cell_contents.__name__ == "write")
    say(depth, threading.active_count() - threads, len(asyncio.all_tasks()))`,
    [1, 0, 1, { moving: false }],
  ],
  [
    'a method with the name of something that the bridge needs has another name on the bench',
    `
    class Named(Device):
        async def run(self): return 1
        async def machine(self): return 2
        async def temperature(self): return 3
        async def UpperCase(self): return 4
    it = bridge(Named)
    told = it.describe()
    say(sorted(told["operations"]), told["readings"], await it.backend_run(), await it.backend_machine(), await it.uppercase())`,
    [
      ['abort', 'backend_machine', 'backend_run', 'backend_temperature', 'move', 'uppercase'],
      {},
      { run: 1 },
      { machine: 2 },
      { UpperCase: 4 },
      { moving: false },
    ],
  ],
]

for (const [title, body, said] of cases)
  withPython(title, async (t) => {
    const folder = dirname(programFile(t, ''))
    mkdirSync(`${folder}/pylabrobot/io`, { recursive: true })
    writeFileSync(`${folder}/pylabrobot/__init__.py`, '')
    writeFileSync(`${folder}/pylabrobot/io/__init__.py`, '')
    writeFileSync(`${folder}/pylabrobot/io/port.py`, port)
    const { stdout, stderr } = spawnSync('python3', ['-c', `${head}${body}\nasyncio.run(main())`], { cwd: folder, encoding: 'utf8' })
    // How long a halt took is not what these cases hold: half a second on a busy machine is rounded to one.
    t.same(stdout && JSON.parse(stdout.replace(/not halted after \d+ s/, 'not halted after 0 s')), said, stderr)
  })
