// A backend of PyLabRobot on a port that goes and comes back. It is a stand-in with the methods of PyLabRobot's own, which talks to the simulated
// BigBear on a pseudo-terminal.

import { spawn } from 'node:child_process'
import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { dirname } from 'node:path'
import { createInterface } from 'node:readline'
import type { Test } from 'tap'
import { driver } from '../../../drivers/bigbear/driver.ts'
import { serveOnPty } from '../../../drivers/serve.ts'
import { bridgeTo, programFile, until } from '../../testing/bridges.ts'
import { atTheEnd, openService } from '../../testing/http.ts'
import { withPython } from '../../testing/python.ts'

/** `setup` waits as long as there is a file `shut` beside it. */
const backends = `
import asyncio, os, time, tty

open(__file__ + ".pid", "w").write(str(os.getpid()))

def note(word):
    with open(__file__ + ".log", "a") as log:
        log.write(word + "\\n")

class ShakerBackend: pass

class BigBear(ShakerBackend):
    def __init__(self, port: str): self.port, self.fd = port, None
    async def setup(self):
        note("setup")
        while os.path.exists(__file__ + ".shut"): await asyncio.sleep(0.01)
        self.fd = os.open(self.port, os.O_RDWR | os.O_NOCTTY | os.O_NONBLOCK)
        tty.setraw(self.fd)
        note("is set up")
    async def stop(self):
        note("stop")
        os.close(self.fd)
    async def start_shaking(self, speed: float): self.say(f"V{int(speed)}\\rG\\r")
    async def stop_shaking(self):
        note("stop_shaking")
        self.say("S\\r")
        while await self.state() not in ("STOP", "RAMP-"): self.say("S\\r")
    async def lock_plate(self): pass
    async def unlock_plate(self): pass
    async def state(self):
        self.say("Q\\r")
        said = b""
        for _ in range(200):
            try: said += os.read(self.fd, 100)
            except BlockingIOError: pass
            if said.endswith(b"\\r"): return said.decode().split("\\r")[-2].strip()
            await asyncio.sleep(0.005)
        raise TimeoutError("no reply")
    def say(self, text): os.write(self.fd, text.encode())

class Deaf(BigBear):
    """Opens its port in a thread."""
    def setup(self):
        note("setup")
        while os.path.exists(__file__ + ".shut"): time.sleep(0.01)
        note("is set up")
    def stop(self): note("stop")
    async def stop_shaking(self): note("stop_shaking")
`

async function bench(t: Test) {
  const folder = dirname(programFile(t, ''))
  writeFileSync(`${folder}/backends.py`, backends)
  const served = await serveOnPty(driver, {}, { link: `${folder}/port` })
  atTheEnd(t).push(() => served.close())
  const command = [
    'python3',
    `${folder}/benchd_bridge.py`,
    'pylabrobot',
    'backends.BigBear',
    `port=${folder}/port`,
    '--check',
    'state',
    '--halt',
    'stop_shaking',
  ]
  const device = { ...bridgeTo(''), type: 'shaker', transport: { kind: 'bridge', command } }
  const { ask, bench } = await openService(t, { devices: [device] })
  const instrument = bench.registry.find('reader-1')
  const call = (operation: string, json: object = {}) => ask('POST', `/api/devices/reader-1/${operation}`, { json })
  const isMoving = () => served.simulator.world.moving
  await until(() => instrument.info().identity ?? instrument.info().fault)
  t.equal((await call('initialize')).status, 200)
  return { folder, served, instrument, call, isMoving, log: () => logOf(folder) }
}

function logOf(folder: string): string[] {
  const path = `${folder}/backends.py.log`
  return existsSync(path) ? readFileSync(path, 'utf8').trim().split('\n') : []
}

withPython(
  'a shaker whose cable is pulled while it shakes is no longer busy, is halted when the cable is back, and initialized',
  async (t) => {
    const { served, instrument, call, isMoving } = await bench(t)
    const shaking = call('shake', { speed: 300, duration: 3600 })
    await until(isMoving)
    served.setFault('unplug')
    t.match(await shaking, { status: 500 })
    t.match(instrument.info(), { state: 'faulted', may_still_be_on: true, fault: { command: 'shake', may_still_be_moving: true } })
    t.ok(isMoving())
    t.match((await call('stop')).body, { success: false })
    await served.clearFaults()
    await until(() => !isMoving())
    await until(() => !instrument.info().may_still_be_on)
    t.equal((await call('initialize')).status, 200)
    t.match(await call('shake', { speed: 300, duration: 0.1 }), { status: 200 })
  },
)

withPython('a shaker that was left shaking and whose cable is pulled is found out by a question', async (t) => {
  const { served, instrument, call, isMoving } = await bench(t)
  t.match(await call('perform', { operation: 'start_shaking', params: { speed: 300 } }), { status: 200 })
  await until(isMoving)
  served.setFault('unplug')
  await until(() => instrument.info().fault)
  t.match(instrument.info(), { state: 'faulted', may_still_be_on: true, fault: { command: 'check' } })
  await served.clearFaults()
  await until(() => !isMoving())
  await until(() => !instrument.info().may_still_be_on)
})

withPython('a program that is killed while it shakes is started again, and initialized only when it has halted the shaker', async (t) => {
  const { folder, call, isMoving, instrument, log } = await bench(t)
  void call('shake', { speed: 300, duration: 3600 })
  await until(isMoving)
  writeFileSync(`${folder}/backends.py.shut`, '')
  process.kill(pidOf(folder), 'SIGKILL')
  await until(() => log().filter((word) => word === 'setup').length === 2)
  t.match(instrument.info(), { may_still_be_on: true })
  const initializing = call('initialize')
  rmSync(`${folder}/backends.py.shut`)
  await until(() => !isMoving())
  await until(async () => (await initializing).status === 200 || (await call('initialize')).status === 200)
  const words = log().slice(2)
  t.same(words.slice(0, 3), ['setup', 'is set up', 'stop_shaking'], 'nobody opened it twice')
})

for (const backend of ['BigBear', 'Deaf'])
  withPython(`halts that come while ${backend} is being set up are answered in time, and none opens the port beside it`, async (t) => {
    const folder = dirname(programFile(t, ''))
    writeFileSync(`${folder}/backends.py`, backends)
    writeFileSync(`${folder}/backends.py.shut`, '')
    const served = await serveOnPty(driver, {}, { link: `${folder}/port` })
    t.teardown(() => served.close())
    const program = `
import backends, benchd_bridge_pylabrobot
benchd_bridge_pylabrobot._HALT_S = 0.2
benchd_bridge_pylabrobot.pylabrobot_bridge(lambda: backends.${backend}("${folder}/port"), benchd_bridge_pylabrobot.Options(check="state")).serve()`
    const child = spawn('python3', ['-c', program], { cwd: folder, stdio: ['pipe', 'pipe', 'ignore'] })
    t.teardown(() => child.kill('SIGKILL'))
    const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]()
    let id = 0
    const send = (method: string) => child.stdin.write(`{"jsonrpc":"2.0","id":${++id},"method":"${method}"}\n`)
    const answer = async () => JSON.parse((await lines.next()).value)
    send('initialize')
    await until(() => logOf(folder).length === 1)
    send('halt')
    send('halt')
    const answers = [await answer(), await answer(), ...(backend === 'BigBear' ? [await answer()] : [])]
    t.ok(
      answers.every(({ error }) => error),
      'initialize is ended, and no halt has succeeded',
    )
    t.match(
      answers.find(({ id }) => id === 2),
      { error: { message: /it is not halted after \d+ s/ } },
    )
    rmSync(`${folder}/backends.py.shut`)
    for (let halted = false; !halted; ) {
      send('halt')
      for (let its = 0; its !== id; ) {
        const said = await answer()
        its = said.id
        halted = said.error === undefined
      }
    }
    t.same(logOf(folder).at(-1), 'stop_shaking')
    t.notMatch(logOf(folder).join(), /setup,setup/, 'the port is opened once at a time')
  })

function pidOf(folder: string): number {
  return Number(readFileSync(`${folder}/backends.py.pid`, 'utf8'))
}
