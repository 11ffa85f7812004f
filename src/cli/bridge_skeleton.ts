// The files of `benchd bridge new`: a bridge with a stand-in for its instrument, its unit test, and the library.

import { readShipped } from '../kit/shipped.ts'
import { CliError } from './exit.ts'

/** An operation of a skeleton, in the words of Python. */
type Operation = {
  name: string
  does: string
  params?: string
  /** Arguments of `@operation`. */
  marks: readonly string[]
  /** The command for the stand-in, and the seconds that it takes, as expressions. */
  command: string
  takes: string
  returns?: string
  /** The arguments with which the test calls it; it is over after at most two seconds. */
  tried?: string
}

const brief = (name: string, does: string, returns?: string): Operation => ({
  ...{ name, does, command: `"${name}"`, marks: ['seconds=5'], takes: '0.2' },
  ...(returns && { returns }),
})
const timed = (name: string, does: string): Operation => ({
  ...{ name, does, command: `"${name}"`, params: 'duration: float', takes: 'duration', tried: 'duration=0.2' },
  marks: ['seconds=("duration", 5)', 'units={"duration": "s"}', 'minimum={"duration": 1}', 'maximum={"duration": 3600}'],
})

/** The operations by the type of the device. A device of another type has that of `usual`. */
const operations: Record<string, readonly Operation[]> = {
  centrifuge: [
    {
      ...{ name: 'centrifuge', does: 'Spin the plates', command: 'f"spin {g}"', takes: 'duration' },
      params: 'g: float, duration: float',
      marks: [
        'seconds=("duration", 120)',
        'units={"g": "g", "duration": "s"}',
        'minimum={"g": 1, "duration": 1}',
        'maximum={"g": 1000, "duration": 3600}',
      ],
      tried: 'g=100, duration=0.2',
    },
    brief('open', 'Open the door'),
    brief('close', 'Close the door'),
  ],
  dispenser: [
    {
      ...{ name: 'dispense', does: 'Dispense into each well of the plate', command: 'f"dispense {volume}"', takes: '0.2' },
      params: 'volume: float',
      marks: ['seconds=30', 'units={"volume": "µL"}', 'minimum={"volume": 0.5}', 'maximum={"volume": 300}'],
      tried: 'volume=10',
    },
  ],
  incubator: [timed('incubate', 'Hold the plate in the chamber'), brief('open', 'Open the door'), brief('close', 'Close the door')],
  instrument: [timed('run', 'Do its work')],
  peeler: [brief('remove_seal', 'Take the seal off the plate')],
  pump: [
    {
      ...{ name: 'pump', does: 'Pump a volume', command: 'f"pump {volume} {rate}"', takes: 'volume / rate * 60' },
      params: 'volume: float, rate: float = 10',
      marks: [
        'seconds=120',
        'units={"volume": "mL", "rate": "mL/min"}',
        'minimum={"volume": 0.1, "rate": 1}',
        'maximum={"volume": 100, "rate": 60}',
      ],
      tried: 'volume=0.1',
    },
  ],
  reader: [
    {
      ...{ name: 'read', does: 'Read the absorbance of a plate', command: 'f"read {wavelength}"', takes: '0.2' },
      params: 'wavelength: int = 600',
      marks: ['seconds=40', 'units={"wavelength": "nm"}', 'minimum={"wavelength": 230}', 'maximum={"wavelength": 1000}'],
      returns: '{"absorbance": [0.25, 0.31]}',
      tried: 'wavelength=450',
    },
    brief('open', 'Move the tray out'),
    brief('close', 'Move the tray in'),
  ],
  scale: [
    brief('weigh', 'Weigh the labware on the pan', '{"grams": 12.5}'),
    brief('tare', 'Set the display to zero with the labware on the pan'),
  ],
  scanner: [brief('scan', 'Read the barcode of the plate', '{"barcode": "P001"}')],
  sealer: [
    {
      ...{ name: 'seal', does: 'Seal the plate', command: 'f"seal {temperature}"', takes: 'duration' },
      params: 'temperature: float, duration: float',
      marks: [
        'seconds=("duration", 20)',
        'leaves_on="heat"',
        'units={"temperature": "°C", "duration": "s"}',
        'minimum={"temperature": 50, "duration": 0.5}',
        'maximum={"temperature": 200, "duration": 10}',
      ],
      tried: 'temperature=160, duration=0.5',
    },
  ],
  shaker: [
    {
      ...{ name: 'shake', does: 'Shake the plate', command: 'f"shake {speed}"', takes: 'duration' },
      params: 'speed: int, duration: float',
      marks: [
        'seconds=("duration", 5)',
        'units={"speed": "rpm", "duration": "s"}',
        'minimum={"speed": 200, "duration": 1}',
        'maximum={"speed": 2000, "duration": 3600}',
      ],
      tried: 'speed=500, duration=0.2',
    },
    brief('lock_plate', 'Lock the plate'),
    brief('unlock_plate', 'Unlock the plate'),
  ],
  washer: [timed('wash', 'Wash the plate')],
}
const usual = operations.instrument!

export const bridgeTypes: readonly string[] = [...Object.keys(operations), 'transporter'].sort()

/** Modules that the library loads: a file of that name beside it would be loaded instead. */
const taken =
  'asyncio base64 benchd_bridge concurrent functools importlib inspect json math os re sys test threading time traceback types typing unittest'

/** Throws a usage error for a name that is no name of a device and of a module, and for a type that is no word. */
export function mustBeName(name: string, type: string): void {
  const near = name.toLowerCase().replace(/\W/g, '_')
  const isFree = (one: string) => /^[a-z][a-z0-9_]{0,27}$/.test(one) && !taken.split(' ').includes(one)
  if (!isFree(name))
    throw new CliError(
      'usage',
      `${name} cannot name a bridge; take a small letter, then small letters, digits and _, at most 28, for example ${isFree(near) ? near : `my_${type}`}`,
    )
  if (!/^[a-z][a-z0-9_]{0,31}$/.test(type))
    throw new CliError('usage', `--type ${type} is not one word in small letters; take one of ${bridgeTypes.join(', ')}`)
}

/** Returns the texts of the files by their names. Throws as `mustBeName` does. */
export async function filesOf(name: string, type: string): Promise<Record<string, string>> {
  mustBeName(name, type)
  const library = new TextDecoder().decode(await readShipped(new URL('../../web/clients/benchd_bridge.py', import.meta.url)))
  const made = type === 'transporter' ? transporter : deviceOf(type, operations[type] ?? usual)
  const fill = (text: string) => text.replaceAll('NAME', name).replaceAll('CLASS', classOf(name))
  return { [`${name}.py`]: fill(made.program), [`test_${name}.py`]: fill(made.test), 'benchd_bridge.py': library }
}

/** Returns lines that say what to do with the files, the next step last. */
export function nextSteps(name: string, type: string, folder: string): string[] {
  const command = ['python3', `/etc/benchd/bridges/${name}.py`]
  const device = { device_id: name, driver: 'bridge', type, transport: { kind: 'bridge', command } }
  return [
    '',
    'Replace its class Instrument by the library or the port of yours. When its trial has passed, on the bench:',
    `  sudo install -D -t /etc/benchd/bridges benchd_bridge.py ${name}.py`,
    `  a device in /etc/benchd/config.json: ${JSON.stringify(device)}`,
    `  sudo systemctl reload benchd && sudo systemctl enable --now benchd-bridge@${name}.socket`,
    `  it may use USB serial adapters; for another port: sudo systemctl edit benchd-bridge@${name}.service, then [Service] DeviceAllow=/dev/ttyS0 rw`,
    'Now, here:',
    `  cd ${folder}`,
    '  python3 -m unittest',
    `  benchd bridge try ${name}.py`,
  ]
}

function classOf(name: string): string {
  return name
    .split('_')
    .filter(Boolean)
    .map((word) => word[0]!.toUpperCase() + word.slice(1))
    .join('')
}

const instrument = `
class Instrument:
    """Stands in for the instrument. Put the calls of its library here, or the bytes for its port."""

    ends = 0.0

    def identify(self):
        return "A-0815"

    def start(self, command, seconds):
        self.ends = time.monotonic() + seconds

    def is_running(self):
        return time.monotonic() < self.ends

    def stop(self):
        self.ends = 0.0

    def close(self):
        pass
`

const base = `
    def __init__(self):
        self.instrument = None
        self.lock = threading.Lock()     # held for a moment only, so that a halt never waits
        self.halted = threading.Event()

    def connect(self):                   # anew: a connection that was lost is closed first
        if self.instrument is not None:
            self.instrument.close()
        self.instrument = Instrument()

    def do(self, command, seconds):      # nothing begins after a halt
        with self.lock:
            if not self.halted.is_set():
                self.instrument.start(command, seconds)
        while self.instrument.is_running() and not self.halted.wait(0.02):
            pass
        if self.halted.is_set():
            raise DeviceFailed("it was halted", hint="initialize it")
`

const check = `
    def check(self):                     # every two seconds while nothing runs: asks the instrument, moves nothing
        if self.instrument is not None:
            self.instrument.identify()
`

const halt = `
    def halt(self):                      # at any moment, also in a new program: end all motion and heat, and see that it ended
        self.halted.set()
        with self.lock:
            try:
                if self.instrument is None:
                    self.connect()
                self.instrument.stop()
            except OSError:              # the connection was lost: once more on a new one
                self.connect()
                self.instrument.stop()
        if self.instrument.is_running():
            raise DeviceFailed("it goes on after a stop", hint="use its red button")


if __name__ == "__main__":
    CLASS().serve()
`

const about =
  '"""The bridge of NAME: benchd bridge try NAME.py tries it, and drivers/README.md of benchd is its guide."""\n\nimport threading\nimport time\n'

/** The skeleton of a device with operations. */
function deviceOf(type: string, its: readonly Operation[]): { program: string; test: string } {
  const methods = its.map(
    ({ name, does, command, params, marks, takes, returns }) => `
    @operation(${argumentsOf(marks)})
    def ${name}(self${params ? `, ${params}` : ''})${returns ? ' -> dict' : ' -> None'}:
        """${does}"""
        self.do(${command}, ${takes})
${returns ? `        return ${returns}\n` : ''}`,
  )
  const reading = type === 'incubator' ? '\n    def temperature(self):\n        return 37.0, 37.0\n' : ''
  const program = `${about}
from benchd_bridge import Bridge, DeviceFailed, operation

${instrument}

class CLASS(Bridge):
    type = "${type}"
    model = "Example"
${base}
    def initialize(self):                # a person or a run calls it; never before a halt has succeeded
        self.halted.clear()              # first of all: a halt that comes meanwhile counts
        with self.lock:
            self.connect()
        self.do("home", 0.1)
${check}${methods.join('')}${reading}${halt}`
  const tests = its.map(
    ({ name, returns, tried = '' }) => `
    def test_${name}(self):
        ${returns ? `self.assertEqual(self.device.${name}(${tried}), ${returns})` : `self.device.${name}(${tried})`}
`,
  )
  const { name, tried = '' } = its[0]!
  return { program, test: testOf(tests.join(''), `self.device.${name}(${tried})`) }
}

/** Long arguments stand in a line each. */
function argumentsOf(marks: readonly string[]): string {
  const one = marks.join(', ')
  return one.length <= 60 ? one : `\n${marks.map((mark) => `        ${mark},\n`).join('')}    `
}

function testOf(tests: string, call: string): string {
  return `"""Tries NAME.py without hardware: python3 -m unittest"""

import threading
import unittest

from benchd_bridge import DeviceFailed
from NAME import CLASS


class TestCLASS(unittest.TestCase):
    def setUp(self):
        self.device = CLASS()
        self.device.initialize()
        self.device.check()
${tests}
    def test_halt_ends_what_runs(self):
        failures, start = [], self.device.instrument.start
        # Long enough to be halted meanwhile.
        self.device.instrument.start = lambda command, seconds: start(command, 60)

        def work():
            try:
                ${call}
            except DeviceFailed as error:
                failures.append(error)

        running = threading.Thread(target=work)
        running.start()
        while not self.device.instrument.is_running():
            pass
        self.device.halt()
        running.join()
        self.assertEqual(len(failures), 1)
        self.assertFalse(self.device.instrument.is_running())

    def test_halt_opens_the_port_of_a_new_program(self):
        device = CLASS()
        device.halt()
        self.assertIsNotNone(device.instrument)


if __name__ == "__main__":
    unittest.main()
`
}

const transporter = {
  program: `${about}
from benchd_bridge import DeviceFailed, Transporter

${instrument}

class CLASS(Transporter):
    model = "Example"
    points = "own"                       # the program knows its positions; "taught" for the teachpoints of the bench
    is_homed = False
    gripper = "empty"
${base}
    def home(self):                      # called by initialize: by a person or a run, never before a halt has succeeded
        self.halted.clear()              # first of all: a halt that comes meanwhile counts
        with self.lock:
            self.connect()
        self.do("home", 0.1)
        self.is_homed = True
${check}
    def pick(self, labware, position, point):
        self.do(f"pick {position}", 0.2)
        self.gripper = "full"

    def place(self, labware, position, point):
        self.do(f"place {position}", 0.2)
        self.gripper = "empty"

    def where(self):                     # the evidence of each move: asks the arm, moves nothing, and never waits for a move
        if not self.is_homed:
            return {"state": "unhomed", "gripper": None}
        state = "moving" if self.instrument.is_running() else "stopped" if self.halted.is_set() else "idle"
        return {"state": state, "gripper": self.gripper}
${halt}`,
  test: testOf(
    `
    def test_pick_and_place(self):
        plate = {"name": "plate", "type": "96-well", "barcode": None}
        self.device.pick(plate, "pad_1", None)
        self.assertEqual(self.device.where(), {"state": "idle", "gripper": "full"})
        self.device.place(plate, "pad_2", None)
        self.assertEqual(self.device.where(), {"state": "idle", "gripper": "empty"})
`,
    'self.device.pick({"name": "plate", "type": "96-well", "barcode": None}, "pad_1", None)',
  ),
}
