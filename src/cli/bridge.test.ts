// `benchd bridge new` and `benchd bridge try`: what they write, and which mistakes of a program the checklist finds.

import { copyFileSync, existsSync, readFileSync, writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { test } from 'tap'
import { benchd } from '../testing/cli.ts'
import { withPython } from '../testing/python.ts'

const python = fileURLToPath(new URL('../../../src/clients/python/', import.meta.url))

/** A reader without mistakes; `more` are methods in place of its own. Each note is a line of the file `log` beside it. */
const reader = (more: string) => `
import os, threading, time
from benchd_bridge import *

def note(word):
    with open(__file__ + ".log", "a") as log:
        log.write(word + "\\n")

class Good(Bridge):
    type = "reader"
    model = "Example"
    halted = threading.Event()
    is_initialized = False

    def initialize(self):
        print("a library that prints")
        self.halted.clear()
        if self.halted.wait(0.1):
            raise DeviceFailed("it was halted")
        self.is_initialized = True

    @operation(seconds=2, margin=2)
    def read(self) -> dict:
        note("read")
        if self.halted.wait(0.2):
            raise DeviceFailed("it was halted")
        return {"absorbance": 0.25}

    def halt(self):
        note("halt")
        self.halted.set()

class Reader(Good):
    pass
${more.replaceAll(/^(?=.)/gm, '    ')}

Reader().serve()
`

/** Tries a program, and returns the exit code and its checks by their names. */
async function tried(folder: string, program: string, ...words: string[]) {
  writeFileSync(`${folder}/reader.py`, program)
  copyFileSync(`${python}benchd_bridge.py`, `${folder}/benchd_bridge.py`)
  const settings = JSON.stringify({ halt_s: 2 })
  const { code, stdout, stderr } = await benchd(folder, [
    ...['bridge', 'try', `${folder}/reader.py`, '--yes', '--json', '--settings', settings],
    ...words,
  ])
  const { checks = [] } = JSON.parse(stdout) as { checks?: { check: string; outcome: string; what: string; stderr?: string }[] }
  const found = checks.map(({ check, outcome, what }) => `${outcome} ${check}: ${what}`)
  return { code, found, stderr, checks, notes: () => readFileSync(`${folder}/reader.py.log`, 'utf8').trim().split('\n') }
}

/** By the mistake: the methods of the program, and what the checklist says. */
const wrong: Record<string, [methods: string, found: RegExp]> = {
  'halt never returns': [
    'def halt(self):\n    time.sleep(4711)',
    /^fail halt while idle: the program was lost: it has not answered halt within 2 s; halt has to return within halt_s/,
  ],
  'halt lies: the operation goes on': [
    '@operation(seconds=8)\ndef read(self) -> None:\n    time.sleep(5)',
    /^fail halt during read: read goes on 2\.00 s after halt was answered; halt has to/,
  ],
  'halt waits for the operation': [
    'lock = threading.Lock()\n@operation(seconds=9)\ndef read(self) -> None:\n    with self.lock:\n        time.sleep(6)\ndef halt(self):\n    with self.lock:\n        pass',
    /^fail halt during read: the program was lost: it has not answered halt within 2 s/,
  ],
  'halt fails in a new program': [
    'def halt(self):\n    if not self.is_initialized:\n        raise DeviceFailed("the port is not open")\n    self.halted.set()',
    /^fail killed while idle: the new program: halt fails: the port is not open; let halt open the port by itself/,
  ],
  'initialize fails after a halt': [
    'def initialize(self):\n    if self.halted.is_set():\n        raise DeviceFailed("no home")',
    /^fail halt while idle: initialize after the halt fails: no home; halt has to/,
  ],
  'initialize fails': [
    'def initialize(self):\n    raise DeviceFailed("no instrument is there")',
    /^fail initialize: no instrument is there; let initialize open/,
  ],
  'writes to standard output': [
    'def initialize(self):\n    os.write(self._out, b"ready\\n")',
    /^fail initialize: the program was lost: it wrote a line that is no message of JSON-RPC: "ready"/,
  ],
  'writes a line that is too long': [
    '@operation(seconds=2)\ndef read(self) -> None:\n    os.write(self._out, b"x" * 1100000)',
    /^fail read: the program was lost: it wrote a line of more than 1 MiB/,
  ],
  'describes itself otherwise each time': [
    'def describe(self):\n    self.model += "!"\n    return super().describe()',
    /^fail describe: it describes itself otherwise when it is asked again; answer describe with the same description each time/,
  ],
  'describes itself otherwise in a new program': [
    'model = str(os.getpid())',
    /^fail start again: it describes itself otherwise than it did \(model\); answer describe/,
  ],
  'describes nonsense': ['def describe(self):\n    return {"protocol": 2}', /^fail describe: its description: .*; answer describe with/],
  'dies of an exception': [
    '@operation(seconds=2)\ndef read(self) -> None:\n    print("no licence", file=__import__("sys").stderr)\n    os._exit(3)',
    /^fail read: the program was lost: it ended with exit status 3; its last words: no licence; see the method/,
  ],
  'takes longer than it says': [
    '@operation(seconds=0.1, margin=0.1)\ndef read(self) -> None:\n    self.halted.wait(9)',
    /^fail read: read did not end within 0\.2 s, which are its described seconds and its margin; see the method/,
  ],
  'check fails before initialize': [
    'def check(self):\n    if not self.is_initialized:\n        raise OSError("the port is not open")',
    /^fail check before initialize: .*the port is not open; the bench asks check from the start/,
  ],
  'a reading waits for the operation': [
    'lock = threading.Lock()\n@operation(seconds=9)\ndef read(self) -> None:\n    with self.lock:\n        self.halted.wait(8)\ndef temperature(self):\n    with self.lock:\n        return 20',
    /^fail questions during read: the program was lost: it has not answered read within 5 s; answer beside the operation/,
  ],
  'an early end changes nothing': [
    '@operation(seconds=5, can_end_early=True)\ndef read(self) -> None:\n    self.halted.wait(4)\ndef end(self, operation_id):\n    return 0',
    /^fail early end of read: read goes on after end was answered; let end return/,
  ],
  'a reading is no number': [
    'def temperature(self):\n    return "warm"',
    /^fail reading temperature: its answer to read: value must be a number.*; return a finite number/,
  ],
}

withPython('bridge try finds each mistake of a program, and ends with 1', async (t) => {
  const mistakes = Object.entries(wrong)
  const folder = t.testdir(Object.fromEntries(mistakes.map((_, i) => [`${i}`, {}])))
  await Promise.all(
    mistakes.map(async ([mistake, [methods, expected]], i) => {
      const { code, found } = await tried(`${folder}/${i}`, reader(methods))
      t.equal(code, 1, mistake)
      t.match(
        found.find((line) => expected.test(line)),
        expected,
        `${mistake}:\n${found.join('\n')}`,
      )
    }),
  )
})

withPython('a program that cannot halt is tried without halts, and one that is halted by its end with that', async (t) => {
  const unhaltable = await tried(t.testdir({ a: {}, b: {} }), reader('can_halt = False'))
  t.equal(unhaltable.code, 0, unhaltable.found.join('\n'))
  t.ok(unhaltable.found.some((line) => line.startsWith('not_tried halt: the program, or its settings, say that nothing ends')))
  t.notOk(unhaltable.notes().includes('halt'))
  const killed = await tried(`${t.testdirName}/b`, reader(''), '--settings', '{"halt": "kill"}')
  t.equal(killed.code, 0, killed.found.join('\n'))
  t.ok(killed.found.some((line) => /^pass halt during read: halted after .*, and initialized again$/.test(line)))
  t.notOk(killed.notes().includes('halt'))
})

withPython('an operation is left out, given values, and ended early', async (t) => {
  const program = reader(
    '@operation(seconds=("duration", 1), can_end_early=True, minimum={"duration": 0.1}, maximum={"duration": 9})\ndef shake_it(self, duration: float, label: str) -> None:\n    note(f"shakes {duration} {label}")\n    self.early.clear()\n    self.early.wait(duration)\nearly = threading.Event()\ndef end(self, operation_id):\n    self.early.set()\n    return 0',
  )
  const words = ['--with', 'shake_it.duration=1.5', '--with', 'shake_it.label=a=b', '--skip', 'read']
  const { found, notes } = await tried(t.testdir({}), program, ...words)
  t.ok(found.includes('not_tried read: left out by --skip'))
  t.ok(
    found.some((line) => /^pass early end of shake_it: ended .* later$/.test(line)),
    found.join('\n'),
  )
  t.ok(notes().includes('shakes 1.5 a=b'))
  t.notOk(notes().includes('read'))
  const refused = (line: string, stderr: RegExp) =>
    tried(t.testdirName, program, ...line.split(' ')).then((one) => t.match(one, { code: 2, stderr }))
  await refused('--with shake_it.speed=3', /shake_it has no parameter speed; it has: duration, label/)
  await refused('--with shake_it.duration=99', /shake_it: duration must be at most 9, not 99/)
  await refused('--with shake_it', /--with shake_it is not OPERATION\.PARAMETER=VALUE/)
  await refused('--skip shake', /the program has no operation shake; did you mean "shake_it"/)
  await refused('--only shake', /the program has no operation shake; did you mean "shake_it"/)
  await refused('--position pad_1=1,2', /--position pad_1=1,2 is not NAME=X,Y,Z/)
})

/** An arm whose gripper keeps its labware when the program is killed; it places slowly. */
const arm = `
import os, threading
from benchd_bridge import *

class Arm(Transporter):
    model, points = "Example", "own"
    halted, is_homed, held = threading.Event(), False, __file__ + ".held"

    def home(self):
        self.halted.clear()
        self.is_homed = True
    def pick(self, labware, position, point):
        open(self.held, "w").close()
    def place(self, labware, position, point):
        if self.halted.wait(0.5):
            raise DeviceFailed("it was halted")
        os.remove(self.held)
    def where(self):
        if not self.is_homed: return {"state": "unhomed", "gripper": None}
        return {"state": "stopped" if self.halted.is_set() else "idle", "gripper": "full" if os.path.exists(self.held) else "empty"}
    def halt(self): self.halted.set()

Arm().serve()
`

withPython('labware that a trial leaves in the gripper is a note', async (t) => {
  const { code, found } = await tried(t.testdir({}), arm, '--position', 'nest')
  t.equal(code, 0, found.join('\n'))
  t.ok(found.includes('note gripper: it is full at the end; take the labware out, or no run can pick'), found.join('\n'))
})

withPython('a halt that is only proposed is a note, with the option that accepts it', async (t) => {
  const proposing = `def describe(self):\n    return {**super().describe(), "proposed_halt": ["abort", 'switch={"on": false}']}`
  const { code, found } = await tried(t.testdir({}), reader(proposing))
  t.equal(code, 0, found.join('\n'))
  const notes = found.filter((line) => line.startsWith('note proposed halt'))
  t.match(notes, [/by abort and switch=.*, which nobody has accepted; .* add "--halt", "abort,switch=\{\\"on\\": false\}" to its command/])
})

/** A class as PyLabRobot has them. */
const machine = `
class Shaker:
    def __init__(self, port: str): pass
    async def setup(self): pass
    async def stop(self): pass
    async def start_shaking(self, speed: float): pass
    async def stop_shaking(self): pass
    async def set_lamp(self, on: bool): pass
`

withPython('bridge new writes a bridge of a class of PyLabRobot, and prints its device with the halts to accept', async (t) => {
  const home = t.testdir({ machines: { 'machine.py': machine }, old: { 'benchd_bridge.py': 'other' } })
  const words = ['--pylabrobot', 'machine.Shaker', '--folder', `${home}/new`, '--', 'port=/dev/ttyUSB0']
  const called = (...more: string[]) => benchd(home, ['bridge', 'new', 'shaker_1', ...words, ...more], { PYTHONPATH: `${home}/machines` })
  const { code, stdout } = await called('--limit', 'shake.speed=1:2')
  t.equal(code, 0)
  t.match(stdout, /^wrote .*benchd_bridge\.py, .*benchd_bridge_pylabrobot\.py, .*benchd_bridge_arms\.py\n/)
  const device = JSON.parse(/config\.json: (.*)/.exec(stdout)![1]!)
  const command = ['python3', '/etc/benchd/bridges/benchd_bridge.py', 'pylabrobot', 'machine.Shaker']
  const transport = { kind: 'bridge', command: [...command, 'port=/dev/ttyUSB0', '--limit', 'shake.speed=1:2'] }
  t.same(device, { device_id: 'shaker_1', driver: 'bridge', type: 'shaker', transport })
  t.match(stdout, /\n {2}no LIVE run uses it before .*: "--halt", "stop_shaking,set_lamp=\{\\"on\\": false\}"\n/)
  t.match(stdout, /bridge try -- python3 benchd_bridge\.py pylabrobot machine\.Shaker port=\/dev\/ttyUSB0 --limit shake\.speed=1:2\n$/)
  t.notMatch((await called('--halt', 'stop_shaking')).stdout, /no LIVE run|wrote/)
  t.match((await called('--halt', 'set_lamp={"on": false},stop_shaking')).stdout, /"type":"shaker"/)
  const elsewhere = await benchd(home, ['bridge', 'new', 'shaker-1', '--python', './python', ...words], { PYTHONPATH: `${home}/machines` })
  t.match(elsewhere.stdout, /has not described itself: .*Mend that \(--python names another Python\)/s)
  t.match(elsewhere.stdout, new RegExp(`"device_id":"shaker-1".*"command":\\["${process.cwd()}/python","/etc`))
  t.match(elsewhere.stdout, new RegExp(`bridge try -- ${process.cwd()}/python benchd_bridge\\.py pylabrobot machine`))
  const lost = await called('--limit', 'shake.sped=1:2')
  t.match(lost, {
    code: 0,
    stdout: /has not described itself: .*--limit shake\.sped: no operation shake has a parameter sped\n[\s\S]*"type":"TYPE"/,
  })

  const refused = (line: string, stderr: RegExp) =>
    benchd(home, ['bridge', 'new', ...line.split(' ')]).then((one) => t.match(one, { stderr }) && t.not(one.code, 0))
  await refused(
    `shaker_1 --pylabrobot machine.Shaker --folder ${home}/old`,
    /benchd_bridge\.py is there already, in another version; remove it/,
  )
  await refused('Shaker --pylabrobot machine.Shaker', /Shaker cannot name a bridge/)
  await refused('my-reader', /my-reader cannot name a bridge; .*, for example my_reader/)
  await refused('shaker_1 port=x', /takes no port=x without --pylabrobot CLASS/)
})

withPython('of many operations a few are named', async (t) => {
  const many = Array.from({ length: 40 }, (_, i) => `@operation(seconds=1)\ndef op_${i}(self) -> None:\n    pass`).join('\n')
  const folder = t.testdir({ 'reader.py': reader(many) })
  copyFileSync(`${python}benchd_bridge.py`, `${folder}/benchd_bridge.py`)
  const { code, stdout } = await benchd(folder, ['bridge', 'try', `${folder}/reader.py`, '--yes', '--only', 'read'])
  t.equal(code, 0, stdout)
  t.match(stdout, /^pass {2}describe .*: op_0, op_1, .*, and 21 more\n/)
  t.match(stdout, /\n- {5}op_0, op_1, .*, and 20 more +not tried: left out by --only\n/)
})

withPython('nothing moves before somebody has agreed', async (t) => {
  const folder = t.testdir({ 'reader.py': reader('') })
  copyFileSync(`${python}benchd_bridge.py`, `${folder}/benchd_bridge.py`)
  const { code, stdout, stderr } = await benchd(folder, ['bridge', 'try', `${folder}/reader.py`])
  t.equal(code, 2)
  t.match(stdout, /^pass {2}describe .*\npass {2}limits .*\npass {2}start again .*\npass {2}check before initialize .*\n$/)
  t.match(
    stderr,
    /this would move the reader "Example": do, halt and interrupt initialize, read; to have it done without being asked: --yes/,
  )
  t.notOk(existsSync(`${folder}/reader.py.log`))
})

withPython('a program without mistakes passes, and each check has its line', async (t) => {
  const { code, found, notes } = await tried(t.testdir({}), reader('def temperature(self):\n    return 22.5, 37'))
  t.equal(code, 0, found.join('\n'))
  t.same(
    found.filter((line) => !line.startsWith('pass ')),
    [
      'not_tried pulled cable: pull it while nothing runs and during an operation: check has to notice, and halt and initialize have to work when it is back',
    ],
  )
  t.match(found, [/^pass describe: reader "Example" in .*: read, reading temperature$/])
  for (const check of [
    'check',
    'reading temperature',
    'read',
    'unknown operation',
    'wrong parameter',
    'two halts at once',
    'halt at the end',
  ])
    t.ok(
      found.some((line) => line.startsWith(`pass ${check}: `)),
      check,
    )
  t.ok(found.some((line) => /^pass halt during read: halted after .*, and initialized again$/.test(line)))
  t.ok(found.some((line) => /^pass killed during read: the new program halts after .* and is initialized$/.test(line)))
  t.equal(notes().at(-1), 'halt', 'the instrument is left halted')
})

/** A bridge in another language, from the table of the guide. `unknown` is the reason with which it refuses what it does not know. */
const inJavaScript = (unknown: string) => `
import { createInterface } from 'node:readline'
const description = { protocol: 1, type: 'pump', model: 'Example', operations: { pump: { seconds: 1, params: { properties: { volume: { type: 'number', minimum: 1, maximum: 9 } }, required: ['volume'] } } } }
let end
const work = (ms) => new Promise((resolve, reject) => {
  const timer = setTimeout(resolve, ms)
  end = () => { clearTimeout(timer); reject(Object.assign(new Error('it was halted'), { reason: 'device_failed' })) }
})
const methods = {
  describe: () => description,
  initialize: () => work(100),
  check: () => ({}),
  halt: () => { end?.() },
  perform: ({ operation, params }) => {
    if (operation !== 'pump' || !(params.volume >= 1)) throw Object.assign(new Error('there is no such operation'), { reason: '${unknown}' })
    return work(300)
  },
}
for await (const line of createInterface({ input: process.stdin })) {
  const { id, method, params } = JSON.parse(line)
  const say = (answer) => process.stdout.write(JSON.stringify({ jsonrpc: '2.0', id, ...answer }) + '\\n')
  const refuse = ({ message, reason }) => say({ error: { code: -32000, message, data: { reason } } })
  new Promise((resolve) => resolve(methods[method](params))).then((result) => say({ result: result ?? {} }), refuse)
}
process.exit()
`

test('a bridge in another language is tried like one in Python', async (t) => {
  for (const [unknown, code] of [
    ['invalid', 0],
    ['device_failed', 1],
  ] as const) {
    const folder = t.testdir({ 'pump.mjs': inJavaScript(unknown) })
    const outcome = await benchd(folder, ['bridge', 'try', '--yes', '--', process.execPath, `${folder}/pump.mjs`])
    t.equal(outcome.code, code, outcome.stdout)
    t.match(outcome.stdout, /pass {2}halt during pump .*\npass {2}killed while idle /)
    if (code === 1)
      t.match(outcome.stdout, /FAIL {2}unknown operation {2,}it is answered as a fault of the instrument; raise Invalid, or answer/)
  }
})

test('a file that is not there, and a program that cannot be started, are named', async (t) => {
  const home = t.testdir({})
  t.match(await benchd(home, ['bridge', 'try', `${home}/none.py`]), {
    code: 3,
    stderr: /there is no file .*none\.py; to make one: benchd bridge new NAME/,
  })
  const { code, stdout } = await benchd(home, ['bridge', 'try', '--', 'no-such-program', 'x'])
  t.equal(code, 1)
  t.match(stdout, /^FAIL {2}describe +the program cannot be started: spawn no-such-program ENOENT; .*\n- {5}everything else +not tried: /)
})
