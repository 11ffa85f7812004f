// A service that is killed in every phase of an operation which the Python client waits for. The shaker lives on behind a box on the network,
// so that it can be asked afterwards how often it did what.

import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'
import type { Test } from 'tap'
import { driver } from '../../../drivers/bioshake/driver.ts'
import { systemClock } from '../../kit/clock.ts'
import { openBox } from '../../testing/drivers/box.ts'
import { atTheEnd } from '../../testing/http.ts'
import { killable } from '../../testing/killable.ts'
import { python, withPython } from '../../testing/python.ts'
import { hasAllTrials } from '../../testing/trials.ts'

/** What is seen of an operation, in the order in which it usually comes: requests and answers on the way, and frames at the instrument. */
const phases = [
  'POST asked',
  'POST passed on',
  'POST answered',
  'getShakeState',
  'setShakeTargetSpeed',
  'shakeOnWithRuntime',
  'GET answered running',
  'GET answered ended',
  'nothing',
]
/** The others differ little from one of these. */
const usual = new Set(['POST asked', 'POST answered', 'setShakeTargetSpeed', 'shakeOnWithRuntime', 'GET answered ended'])
const tried = hasAllTrials ? phases : phases.filter((phase) => usual.has(phase))

/** The service as a process of its own, which `kill` ends and starts again. Its address is that of a line that tells `saw` what goes over it. */
async function behindLine(t: Test, saw: (phase: string) => void) {
  const ending = atTheEnd(t)
  const times = new Map<string, number>()
  let speed = ''
  const box = await openBox((bytes) => {
    for (const [, word = '', number = ''] of Buffer.from(bytes)
      .toString('latin1')
      .matchAll(/([a-zA-Z]+)(\d*)\r/g)) {
      if (word === 'setShakeTargetSpeed') speed = number
      if (word === 'shakeOnWithRuntime') times.set(speed, (times.get(speed) ?? 0) + 1)
      saw(word)
    }
    simulator.receive(bytes)
  })
  const simulator = driver.simulate({
    clock: systemClock,
    settings: { model: '3000-T elm', acceleration: null },
    send: (bytes) => box.send(bytes),
  })
  const device = { device_id: 'shaker-1', driver: 'bioshake', transport: { kind: 'tcp', host: '127.0.0.1', port: box.port } }
  const service = await killable(t, { config: { devices: [device] }, scope: 'operate' })
  const sockets = new Set<Socket>()
  const line = createServer((near) => {
    const far = connect(service.port(), '127.0.0.1')
    for (const [one, other] of [
      [near, far],
      [far, near],
    ] as const) {
      sockets.add(one)
      one.on('error', () => undefined).on('close', () => other.destroy())
    }
    let method = ''
    near.on('data', (bytes) => {
      ;[method = ''] = /^[A-Z]+ /.exec(bytes.toString()) ?? [method]
      saw(`${method.trim()} asked`)
      far.write(bytes)
      saw(`${method.trim()} passed on`)
    })
    far.on('data', (bytes) => {
      const [, status = ''] = /"status":"(\w+)"/.exec(bytes.toString()) ?? []
      saw(`${method.trim()} answered${method.startsWith('GET') ? ` ${status}` : ''}`)
      near.write(bytes)
    })
  })
  await once(line.listen(0, '127.0.0.1'), 'listening')
  ending.push(async () => {
    for (const socket of sockets) socket.destroy()
    line.close()
    simulator.powerOff()
    await box.close()
  })
  return {
    key: service.key,
    url: `http://127.0.0.1:${(line.address() as AddressInfo).port}`,
    /** How often it shook at that speed. */
    times: (wanted: number) => times.get(String(wanted)) ?? 0,
    async kill() {
      const killed = service.kill()
      for (const socket of sockets) socket.destroy()
      await killed
      await service.start()
    },
  }
}

const program = `
import json, sys
def ready():
    while True:
        try:
            bench["shaker-1"].initialize()
            return bench["shaker-1"].lock_plate()
        except (DeviceFailed, Refused, Busy): time.sleep(0.05)
import time
for line in sys.stdin:
    ready()
    print("ready", flush=True)
    speed = int(sys.stdin.readline())
    try: said = bench["shaker-1"].shake(speed=speed, duration=1)["params"]["speed"]
    except BenchError as error: said = type(error).__name__
    print(json.dumps(said), flush=True)
`

withPython(
  'whenever the service is killed during an operation, nothing is done twice, and nothing is reported as done that was not',
  async (t) => {
    let wanted: string | undefined
    let killing: Promise<void> | undefined
    const service = await behindLine(t, (phase) => {
      if (phase !== wanted) return
      wanted = undefined
      killing = service.kill()
    })
    const { child, line } = python(t, { url: service.url, key: service.key, retry_s: 600 }, program)
    const said: Record<string, unknown> = {}
    for (const [n, phase] of tried.entries()) {
      child.stdin.write('\n')
      t.equal(await line(), 'ready')
      const speed = 500 + n
      wanted = phase
      child.stdin.write(`${speed}\n`)
      const outcome = JSON.parse((await line())!)
      await killing
      said[phase] = outcome
      const times = service.times(speed)
      if (typeof outcome === 'number') t.same([outcome, times], [speed, 1], `killed at ${phase}: done`)
      else if (outcome === 'OutcomeUnknown') t.ok(times <= 1, `killed at ${phase}: not known, and done ${times} times`)
      else t.equal(times, 0, `killed at ${phase}: ${outcome}`)
    }
    t.match(said, { 'POST answered': 'OutcomeUnknown', shakeOnWithRuntime: 'OutcomeUnknown' })
    // The outcome is written a moment after it is known, and the answer did not come to the client.
    t.ok(typeof said['GET answered ended'] === 'number' || said['GET answered ended'] === 'OutcomeUnknown', `${said['GET answered ended']}`)
  },
)
