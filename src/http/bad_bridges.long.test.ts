// Programs that misbehave behind a device: the device is faulted with a clear sentence, the program is gone, and other devices notice nothing.

import { readdirSync, readFileSync } from 'node:fs'
import { type Test, test } from 'tap'
import { bridgeTo, programFile, reader, until } from '../testing/bridges.ts'
import { openService } from '../testing/http.ts'

const described = JSON.stringify({ protocol: 1, type: 'reader', model: 'Bad', operations: { read: { seconds: 1 } } })
/** A program that answers as it should, until it is asked for `bad`. */
const speaks = (bad: string, answer: string) => `
import json, os, subprocess, sys, time
def say(message):
    sys.stdout.write(json.dumps({"jsonrpc": "2.0", **message}) + "\\n"); sys.stdout.flush()
for line in sys.stdin:
    asked = json.loads(line); id = asked["id"]; method = asked["method"]
    if method == ${JSON.stringify(bad)}:
        ${answer}
    elif method == "describe":
        say({"id": id, "result": json.loads(${JSON.stringify(described)})})
    else:
        say({"id": id, "result": {}})
`

const bad: Record<string, [program: string, fault: RegExp]> = {
  'prints garbage': [
    speaks('initialize', 'print("Traceback: \\x00", flush=True)'),
    /it wrote a line that is no message of JSON-RPC: "Traceback/,
  ],
  'prints without an end': [speaks('initialize', 'sys.stdout.write("x" * 1000000000)'), /it wrote a line of more than 1 MiB/],
  'never stops talking': [
    speaks('initialize', 'while True: say({"method": "progress", "params": {}})'),
    /it wrote more than 1000 messages within a second/,
  ],
  'answers twice': [speaks('initialize', 'say({"id": id, "result": {}}); say({"id": id, "result": {}})'), /answered it twice: id \d/],
  'answers what nobody asked': [speaks('initialize', 'say({"id": 4711, "result": {}})'), /a question that nobody asked.*id 4711/],
  'asks by itself': [speaks('initialize', 'say({"id": 1, "method": "sample"})'), /it asked sample, and a bridge only answers/],
  ends: [
    speaks('initialize', 'print("no licence", file=sys.stderr); sys.exit(7)'),
    /it ended with exit status 7; its last words: no licence/,
  ],
  'is reported as ended by its supervisor': [
    speaks('initialize', 'say({"method": "ended", "params": {"reason": "it needs more memory than it may have"}})'),
    /it needs more memory than it may have/,
  ],
  'is killed': [speaks('initialize', 'os.kill(os.getpid(), 9)'), /it was ended by SIGKILL/],
  'forks and survives': [
    speaks('initialize', 'subprocess.Popen(["sleep", "4711"], start_new_session=True, stdout=subprocess.DEVNULL); os._exit(0)'),
    /it ended with exit status 0/,
  ],
  'answers nonsense': [speaks('perform', 'say({"id": id, "result": {"message": 7}})'), /its answer to read: message must be string/],
  'describes nonsense': [
    speaks('describe', 'say({"id": id, "result": {"protocol": 1, "type": "reader"}})'),
    /its description: model is missing/,
  ],
  'describes what nobody knows': [
    speaks(
      'describe',
      'say({"id": id, "result": {"protocol": 1, "type": "reader", "model": "M", "operations": {"read": {"seconds": 1, "params": {"properties": {"a": {"type": "array"}}}}}}})',
    ),
    /its description: operations.read.params.properties.a.type must be one of "number", "integer", "string", "boolean"/,
  ],
  'describes another operation by a known name': [
    speaks(
      'describe',
      'say({"id": id, "result": {"protocol": 1, "type": "reader", "model": "M", "operations": {"shake": {"seconds": 1}}}})',
    ),
    /shake is an operation of every bench and takes the numbers speed and duration/,
  ],
  'is another': [
    speaks('describe', 'say({"id": id, "result": {"protocol": 1, "type": "cycler", "model": "M", "operations": {}}})'),
    /a cycler, and the configuration says reader/,
  ],
}

for (const [what, [program, words]] of Object.entries(bad)) {
  test(`a program that ${what}`, async (t) => {
    const { ask, instrument, lab } = await bench(t, program)
    await until(() => instrument.info().identity ?? instrument.info().fault)
    if (!instrument.info().fault) await ask('POST', '/api/devices/reader-1/initialize')
    if (!instrument.info().fault) await ask('POST', '/api/devices/reader-1/perform', { json: { operation: 'read' } })
    const { error } = await until(() => instrument.info().fault)
    t.match(error, words)
    t.match(error, /reader-1.*; .*(initialize|configuration|right one|parameters)|must be|is missing/s, 'it says what to do')
    // Another device is stopped as fast as ever meanwhile.
    const asked = performance.now()
    t.match((await ask('POST', '/api/devices/shaker-1/stop')).body, { success: true })
    t.ok(performance.now() - asked < 2000)
    await lab.registry.find('reader-1').close()
    // A moment passes between a kill and its effect.
    await until(() => programsOf(program).length === 0)
  })
}

test('a program that ignores a halt is ended after halt_s and started again, until it answers one; it may still be moving until then', async (t) => {
  const deaf = `import os\nflag = __file__ + ".heard"\n${speaks('halt', 'if os.path.exists(flag): say({"id": id, "result": {}})\n        else: open(flag, "w").close()')}`
  const { ask, instrument } = await bench(t, deaf, { settings: { halt_s: 1 } })
  await until(() => instrument.info().identity)
  await ask('POST', '/api/devices/reader-1/initialize')
  const asked = performance.now()
  t.match((await ask('POST', '/api/devices/reader-1/stop')).body, { success: false, message: 'reader-1: stop sent, not confirmed' })
  t.ok(performance.now() - asked < 2000, 'the answer waits for 400 ms')
  t.match(instrument.state, /disconnected|stopped/)
  await until(() => instrument.state === 'stopped')
  await until(() => ask('POST', '/api/devices/reader-1/initialize').then(({ status }) => status === 200))
  t.equal(instrument.state, 'ready')
})

test('a device without a halt says so, and a stop waits for what is under way', async (t) => {
  const { ask, instrument } = await bench(t, reader, { settings: { halt: 'none' } })
  await until(() => instrument.info().identity)
  t.match((await ask('GET', '/api/devices/reader-1/capabilities')).body, { features: { uninterruptible: true } })
  await ask('POST', '/api/devices/reader-1/initialize')
  const headers = { Prefer: 'respond-async' }
  await ask('POST', '/api/devices/reader-1/perform', { json: { operation: 'wait', params: { duration: 2 } }, headers })
  await until(() => instrument.info().operation?.progress)
  t.match((await ask('POST', '/api/devices/reader-1/stop')).body, { success: false })
  t.equal((await ask('POST', '/api/devices/reader-1/initialize')).status, 200, 'once it has ended')
})

test('a description outlasts a restart, and a program that is away does not keep its workflows from being checked', async (t) => {
  const path = programFile(t, reader)
  const first = await openService(t, { devices: [bridgeTo(path)] })
  await until(() => first.lab.registry.find('reader-1').knows('read'))
  await first.service.close()
  const kept = JSON.parse(readFileSync(`${first.data_dir}/descriptions.json`, 'utf8'))
  t.match(kept.descriptions['reader-1'], { model: 'Example 96', operations: { read: { seconds: 1 } } })
})

async function bench(t: Test, program: string, more: object = {}) {
  const path = programFile(t, program)
  const shaker = { device_id: 'shaker-1', driver: 'bioshake', transport: { kind: 'simulated' } }
  const service = await openService(t, { devices: [bridgeTo(path, more), shaker] })
  return { ...service, instrument: service.lab.registry.find('reader-1') }
}

/** What still runs of what the test has started. */
function programsOf(program: string): string[] {
  const names = readdirSync('/proc').filter((name) => /^\d+$/.test(name))
  const commands = names.flatMap((pid) => {
    try {
      return [readFileSync(`/proc/${pid}/cmdline`, 'utf8').replaceAll('\0', ' ')]
    } catch {
      return []
    }
  })
  return program.includes('4711"]') ? commands.filter((command) => command.startsWith('sleep 4711')) : []
}
