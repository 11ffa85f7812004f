// Programs that misbehave behind a device: the device is faulted with a clear sentence, the program is gone, and other devices notice nothing.

import { existsSync, readdirSync, readFileSync } from 'node:fs'
import type { Test } from 'tap'
import { badPrograms, badTransporters, speaks } from '../testing/bad_bridges.ts'
import { armAt, bridgeTo, programFile, reader, until } from '../testing/bridges.ts'
import { openService } from '../testing/http.ts'
import { targetOf } from '../testing/moves.ts'
import { withPython } from '../testing/python.ts'

for (const [what, [program, words]] of Object.entries(badPrograms)) {
  withPython(`a program that ${what}`, async (t) => {
    const { ask, instrument, bench, path } = await setup(t, program)
    await until(() => instrument.info().identity ?? instrument.info().fault)
    if (!instrument.info().fault) await ask('POST', '/api/devices/reader-1/initialize')
    if (!instrument.info().fault) await ask('POST', '/api/devices/reader-1/perform', { json: { operation: 'read' } })
    const { error } = await until(() => instrument.info().fault)
    t.match(error, words)
    t.match(error, /reader-1.*; .*(initialize|configuration|right one|parameters)|must be|is missing/s, 'it says what to do')
    // The benchmark `bridge` measures how fast another device is stopped meanwhile.
    t.match((await ask('POST', '/api/devices/shaker-1/stop')).body, { success: true })
    t.match(bench.registry.find('shaker-1').info().fault, { error_type: 'Stopped' })
    await bench.registry.find('reader-1').close()
    // A moment passes between a kill and its effect.
    await until(() => processesOf(path).length === 0)
  })
}

for (const [what, [program, words]] of Object.entries(badTransporters)) {
  withPython(`a transporter that ${what}`, async (t) => {
    const path = programFile(t, program)
    const { ask, bench } = await openService(t, { devices: [armAt(path, { settings: { move_timeout_s: 2 } })] })
    const instrument = bench.registry.find('arm-9')
    await until(() => instrument.info().identity)
    t.equal((await ask('POST', '/api/devices/arm-9/initialize')).status, 200)
    const target = { ...targetOf({ at: 'pad', pose: { x: 0, y: 0, z: 0, yaw: 0, pitch: 0, roll: 0 } }), way: null }
    const isPlace = what.includes('place')
    if (isPlace) await instrument.carry('pick', target)
    await t.rejects(instrument.carry(isPlace ? 'place' : 'pick', target), { message: words })
    t.match(instrument.info().fault?.error, words, 'the fault stays')
    await t.rejects(instrument.carry('pick', target), { code: 'faulted' })
    t.equal(readFileSync(`${path}.log`, 'utf8'), isPlace ? 'pick\nplace\n' : 'pick\n', 'each move is sent once')
  })
}

withPython(
  'a program that ignores a halt is ended after halt_s and started again, until it answers one; it may still be moving until then',
  async (t) => {
    const deaf = `import os\nflag = __file__ + ".heard"\n${speaks('halt', 'if os.path.exists(flag): say({"id": id, "result": {}})\n        else: open(flag, "w").close()')}`
    const { ask, instrument } = await setup(t, deaf, { settings: { halt_s: 1 } })
    await until(() => instrument.info().identity)
    await ask('POST', '/api/devices/reader-1/initialize')
    t.match((await ask('POST', '/api/devices/reader-1/stop')).body, { success: false, message: 'reader-1: stop sent, not confirmed' })
    t.match(instrument.state, /disconnected|stopped/)
    await until(() => instrument.state === 'stopped')
    await until(() => ask('POST', '/api/devices/reader-1/initialize').then(({ status }) => status === 200))
    t.equal(instrument.state, 'ready')
  },
)

withPython('a program that blocks in C code is ended by a stop and started again, and what was under way has an end', async (t) => {
  const blocked = `
import ctypes, os
from benchd_bridge import *
class Reader(Bridge):
    type = "reader"
    @operation(seconds=600)
    def read(self) -> None:
        open(__file__ + ".pid", "w").write(str(os.getpid()))
        ctypes.PyDLL(None).sleep(4711)
    def halt(self): open(__file__ + ".halted", "w").write(str(os.getpid()))
Reader().serve()`
  const { ask, instrument, path } = await setup(t, blocked, { settings: { halt_s: 0.5 } })
  await until(() => instrument.info().identity)
  await ask('POST', '/api/devices/reader-1/initialize')
  const reading = ask('POST', '/api/devices/reader-1/perform', { json: { operation: 'read' } })
  const first = await until(() => contentOf(`${path}.pid`))
  t.match((await ask('POST', '/api/devices/reader-1/stop')).body, { success: false, message: 'reader-1: stop sent, not confirmed' })
  t.match((await reading).body, { success: false })
  const second = await until(() => contentOf(`${path}.halted`))
  t.not(second, first, 'another process heard the halt')
  await until(() => instrument.state === 'stopped')
  t.equal((await ask('POST', '/api/devices/reader-1/initialize')).status, 200)
})

function contentOf(path: string): string {
  return existsSync(path) ? readFileSync(path, 'utf8') : ''
}

withPython('a device without a halt says so, and a stop waits for what is under way', async (t) => {
  const { ask, instrument } = await setup(t, reader, { settings: { halt: 'none' } })
  await until(() => instrument.info().identity)
  t.match((await ask('GET', '/api/devices/reader-1/capabilities')).body, { features: { uninterruptible: true } })
  await ask('POST', '/api/devices/reader-1/initialize')
  const headers = { Prefer: 'respond-async' }
  await ask('POST', '/api/devices/reader-1/perform', { json: { operation: 'wait', params: { duration: 2 } }, headers })
  await until(() => instrument.info().operation?.progress)
  t.match((await ask('POST', '/api/devices/reader-1/stop')).body, { success: false })
  t.equal((await ask('POST', '/api/devices/reader-1/initialize')).status, 200, 'once it has ended')
})

withPython('a description outlasts a restart, and a program that is away does not keep its workflows from being checked', async (t) => {
  const path = programFile(t, reader)
  const first = await openService(t, { devices: [bridgeTo(path)] })
  await until(() => first.bench.registry.find('reader-1').abilities.knows('read'))
  await first.service.close()
  const kept = JSON.parse(readFileSync(`${first.data_dir}/descriptions.json`, 'utf8'))
  t.match(kept.descriptions['reader-1'], { model: 'Example 96', operations: { read: { seconds: 1 } } })
})

async function setup(t: Test, program: string, more: object = {}) {
  const path = programFile(t, program)
  const shaker = { device_id: 'shaker-1', driver: 'bioshake', transport: { kind: 'simulated' } }
  const service = await openService(t, { devices: [bridgeTo(path, more), shaker] })
  return { ...service, path, instrument: service.bench.registry.find('reader-1') }
}

/** The processes of a program, and the one that `forks and survives` leaves behind. */
function processesOf(path: string): string[] {
  const names = readdirSync('/proc').filter((name) => /^\d+$/.test(name))
  const commands = names.flatMap((pid) => {
    try {
      return [readFileSync(`/proc/${pid}/cmdline`, 'utf8').replaceAll('\0', ' ')]
    } catch {
      return []
    }
  })
  return commands.filter((command) => command.includes(path) || command.startsWith('sleep 4711'))
}
