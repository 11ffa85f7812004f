// The files of `benchd drivers new`: a driver with a stand-in for its instrument, its simulator, its test and its README.

import { CliError } from './exit.ts'

/** The types of the bench for which there is a skeleton; every other word is a type of its own. */
const shaker = 'shaker'

/** Throws a usage error for a name that no folder of a driver may have, and for a type that is no word. */
export function mustBeDriverName(name: string, type: string, shipped: readonly string[]): void {
  if (!/^[a-z][a-z0-9_-]{0,62}$/.test(name))
    throw new CliError('usage', `${name} cannot name a driver; take a small letter, then small letters, digits, _ and -, at most 63`)
  if (shipped.includes(name))
    throw new CliError('usage', `benchd has a driver ${name} already, which would be used in its place; take another name`)
  if (!/^[a-z][a-z0-9_]{0,31}$/.test(type)) throw new CliError('usage', `--type ${type} is not one word in small letters, such as pump`)
}

/** Returns the texts of the files by their names. */
export function driverFiles(name: string, type: string): Record<string, string> {
  const isShaker = type === shaker
  const words: Record<string, string> = {
    PROFILE: isShaker ? shakerProfile : ownProfile,
    RETURN: isShaker ? '' : returned,
    READING: isShaker ? '' : reading,
    OPERATION: isShaker ? 'shake' : 'run_for',
    TYPE: type,
    NAME: name,
  }
  const filled = (text: string) => Object.entries(words).reduce((before, [word, value]) => before.replaceAll(word, () => value), text)
  return Object.fromEntries(
    Object.entries(files).map(([file, text]) => [
      file,
      filled(text)
        .replace(/\n\n+(?= {2}\}\))/g, '\n')
        .replace(/\n{3,}/g, '\n\n'),
    ]),
  )
}

const shakerProfile = `  profile: ({ max_speed }) => ({
    model: 'NAME',
    limits: { speed: { min: 100, max: max_speed, unit: 'rpm', step: 1 }, duration: { min: 1, max: 3600, unit: 's' } },
    features: { autonomous_timer: true },
  }),`

const ownProfile = `  profile: () => ({ model: 'NAME', limits: {}, features: { autonomous_timer: true } }),
  // Operations and readings that the bench does not know, as a bridge describes them: https://json-schema.org for \`params\`.
  own: ({ max_speed }) => ({
    operations: {
      OPERATION: {
        summary: 'Run at a speed',
        params: {
          properties: {
            speed: { type: 'integer', minimum: 100, maximum: max_speed, unit: 'rpm' },
            duration: { type: 'number', minimum: 1, maximum: 3600, unit: 's' },
          },
          required: ['speed', 'duration'],
        },
        // The time is the parameter, and 2 s on top; after 30 s more the bench halts the device.
        seconds: { param: 'duration', plus: 2 },
        margin_s: 30,
        // What goes on if this process ends: \`motion\`, \`heat\`, or null.
        leaves_on: 'motion',
        returns: { speed: 'rpm' },
      },
    },
    readings: { present_speed: { unit: 'rpm' } },
  }),`

const reading = `
  /** The reading that \`own\` describes. */
  async present_speed(): Promise<number> {
    return (await this.#state()).speed
  }
`

const returned = `    return { speed }`

const files: Readonly<Record<string, string>> = {
  'driver.ts': `// NAME: the walk from an operation of the bench to frames of the instrument, and back.

import {
  type Device,
  described,
  Exchange,
  type Identity,
  type InferOutput,
  LabError,
  nextLine,
  OperationRunner,
  onceStarted,
  reports,
  type SerialMount,
  serialDriver,
  sleep,
  until,
  v,
  Whole,
  WithMount,
} from 'benchd/driver'
import { errorTable } from './errors.ts'
import { askIdentity, askState, isReset, readIdentity, readState, reset, run, type State, signature, stop, stopped } from './protocol.ts'
import { simulate } from './simulator.ts'

/** All members have defaults. The configuration sets them in \`settings\`. */
const settings = v.strictObject({
  max_speed: v.optional(described(Whole(100, 3000), 'Fastest speed of the model, in rpm'), 1000),
})
type Settings = InferOutput<typeof settings>

const reply_ms = 1000
const look_ms = 1000
/** The table slows down after its time. */
const slowing_s = 20

export const driver = serialDriver<Settings>({
  type: 'TYPE',
  about: { instrument: 'NAME (a stand-in)' },
  typical: { initialize_s: 0.2 },
  settings,
  serial: { baud: 9600 },
  signature,
  errors: () => errorTable,
PROFILE
  open: (at) => new Instrument(at),
  simulate,
})

class Instrument extends WithMount<SerialMount<Settings>> implements Device {
  readonly #runner = new OperationRunner(this.at.line)
  readonly #exchange = new Exchange<string, string>(this.at.line, {
    framer: nextLine,
    encode: (line) => Buffer.from(\`\${line}\\r\\n\`, 'latin1'),
    gap_ms: 20,
    resync: { question: askIdentity, recognises: (line) => readIdentity(line) !== undefined },
  })

  /** Only asks, and is the first question to an instrument that may be another one. */
  async identify(): Promise<Identity> {
    const answer = await this.#exchange.query(askIdentity, { deadline_ms: reply_ms, accepts: (line) => readIdentity(line) !== undefined })
    return readIdentity(answer)!
  }

  async check(): Promise<void> {
    mustBeWell(await this.#state())
  }

  /** May move the instrument; refuses while it moves, so that it ends nobody's run. */
  readonly initialize = this.#runner.operation(async (_params: object, signal) => {
    const identity = await this.identify()
    const { mode } = await this.#state()
    if (mode === 'moving') throw new LabError('interlock', 'it moves; wait until it rests, or stop it, then initialize')
    signal.throwIfAborted()
    if (mode === 'failed') await this.#exchange.command(reset, { deadline_ms: reply_ms, accepts: (line) => line === isReset })
    mustBeWell(await this.#state())
    return { identity }
  })

  readonly OPERATION = this.#runner.operation(async ({ speed, duration }: { speed: number; duration: number }, signal) => {
    if ((await this.#state()).mode !== 'idle') throw new LabError('interlock', 'it is not at rest; stop it, then initialize')
    signal.throwIfAborted()
    // A command that moves something is said once. Whether it was heard shows in the state.
    const answer = await this.#exchange.command(run(speed, duration), { deadline_ms: reply_ms, accepts: (line) => line.startsWith('RUN ') })
    if (answer !== 'RUN ok') throw new LabError('interlock', \`it answered \${answer}; see whether its cover is closed\`)
    await onceStarted(() => this.#untilDone(duration, signal))
RETURN
  })
READING
  /** The bytes are on the wire when this returns. It resolves on evidence alone: the acknowledgement of the instrument. */
  async halt(): Promise<void> {
    this.#runner.stop()
    await this.#exchange.interruptFor(stop, { deadline_ms: reply_ms, accepts: (line) => line === stopped })
  }

  async #untilDone(duration: number, signal: AbortSignal): Promise<void> {
    const began = this.at.clock.now()
    const gone_s = () => (this.at.clock.now() - began) / 1000
    while (gone_s() < duration) {
      await sleep(this.at.clock, Math.min(look_ms, duration * 1000 - gone_s() * 1000), signal)
      const state = await this.#state()
      mustBeWell(state)
      if (state.mode === 'idle' && gone_s() < duration - 1)
        throw new LabError('device_failed', \`it stopped after \${Math.round(gone_s())} s of \${duration} s; see who stopped it, then initialize\`)
    }
    const looking = { clock: this.at.clock, going: signal, within_s: slowing_s, every_ms: 200 }
    const rests = (state: State) => {
      mustBeWell(state)
      return state.mode === 'idle'
    }
    await until(looking, () => this.#state(), rests, () => 'it does not come to rest; use its power switch, then initialize')
  }

  async #state(): Promise<State> {
    const answer = await this.#exchange.query(askState, { deadline_ms: reply_ms, accepts: (line) => readState(line) !== undefined })
    return readState(answer)!
  }
}

function mustBeWell({ mode, error }: State): void {
  if (mode === 'failed') throw reports(errorTable, [error])
}
`,
  'protocol.ts': `// The protocol of NAME: lines of text. Pure: no clock and no line, so that a test needs neither.

/** Matches the answer to \`ID?\`, and no answer of another instrument. */
export const signature = /^ID NAME\\b/m

export const askIdentity = 'ID?'
export const askState = 'ST?'
export const stop = 'STOP'
export const reset = 'RESET'

/** Each answer begins with its question, so that a late one is never taken for another. */
export const stopped = 'STOP ok'
export const isReset = 'RESET ok'

export function run(speed: number, seconds: number): string {
  return \`RUN \${speed} \${seconds}\`
}

export type State = { mode: 'idle' | 'moving' | 'failed'; speed: number; error: number }

/** Reads \`ST moving 300 0\`: the mode, the speed in rpm, and the number of an error. Undefined for another line. */
export function readState(line: string): State | undefined {
  const [, mode, speed, error] = /^ST (idle|moving|failed) (\\d+) (\\d+)$/.exec(line) ?? []
  return mode === undefined ? undefined : { mode: mode as State['mode'], speed: Number(speed), error: Number(error) }
}

/** Reads \`ID NAME 4711 1.0\`. Undefined for another line. */
export function readIdentity(line: string): { model: string; serial_number: string; firmware_version: string } | undefined {
  const [, model, serial_number, firmware_version] = /^ID (\\S+) (\\S+) (\\S+)$/.exec(line) ?? []
  return model === undefined ? undefined : { model, serial_number: serial_number!, firmware_version: firmware_version! }
}
`,
  'errors.ts': `// The errors that NAME reports by number: what each one means, and what a person does about it.

import type { ErrorTable } from 'benchd/driver'

export const errorTable: ErrorTable = {
  manual: 'the manual of NAME',
  codes: {
    1: ['the motor is blocked', 'Remove what blocks it'],
  },
}
`,
  'simulator.ts': `// A simulated NAME. It is written from the README and not from the driver: no test finds a mistake that is in both.

import { type InstrumentEnd, type MechanicalFault, type Simulate, type Simulator, Table, TextPort, Timers, WithMount } from 'benchd/driver'

const answer_ms = 10
const rpmPerSecond = 400

class SimulatedInstrument extends WithMount<InstrumentEnd<unknown>> implements Simulator {
  readonly #port = new TextPort({ ...this.at, answer_ms, longest: 80, ending: '\\r\\n', hear: (line) => this.#hear(line) })
  readonly #table = new Table(this.at.clock, rpmPerSecond)
  readonly #timer = new Timers(this.at.clock)
  #isJammed = false
  #error = 0

  receive(bytes: Uint8Array): void {
    this.#port.receive(bytes)
  }

  get world(): Simulator['world'] {
    return { moving: this.#table.moving, heating: false, speed: this.#table.speed }
  }

  setFault(fault: MechanicalFault, isPresent: boolean): boolean {
    if (fault !== 'jam') return false
    this.#isJammed = isPresent
    if (isPresent && this.#table.moving) this.#fail()
    return true
  }

  powerOff(): void {
    this.#port.powerOff()
    this.#timer.clear()
    this.#table.block()
  }

  #hear(line: string): void {
    const [word, speed = '', seconds = ''] = line.split(' ')
    if (line === 'ID?') this.#port.say('ID NAME 4711 1.0')
    else if (line === 'ST?') this.#port.say(this.#state())
    else if (word === 'RUN') this.#port.say(this.#run(Number(speed), Number(seconds)))
    else if (line === 'STOP') this.#stop()
    else if (line === 'RESET') this.#reset()
    else this.#port.say(\`\${word} unknown\`)
  }

  #state(): string {
    const mode = this.#error > 0 ? 'failed' : this.#table.moving ? 'moving' : 'idle'
    return \`ST \${mode} \${Math.round(this.#table.speed)} \${this.#error}\`
  }

  /** The instrument keeps the time, and slows down by itself. */
  #run(speed: number, seconds: number): string {
    if (this.#error > 0 || this.#table.moving || !(speed > 0 && seconds > 0)) return 'RUN no'
    if (this.#isJammed) this.#fail()
    else {
      this.#table.goTo(speed)
      this.#timer.after(seconds * 1000, () => this.#table.goTo(0))
    }
    return 'RUN ok'
  }

  #stop(): void {
    this.#timer.clear()
    this.#table.goTo(0)
    this.#port.say('STOP ok')
  }

  #reset(): void {
    this.#error = this.#isJammed ? 1 : 0
    this.#port.say('RESET ok')
  }

  #fail(): void {
    this.#timer.clear()
    this.#table.block()
    this.#error = 1
  }
}

export const simulate: Simulate<unknown> = (at) => new SimulatedInstrument(at)
`,
  'driver.test.ts': `import { calm, onSimulator, perform, test } from 'benchd/driver-test'
import { driver } from './driver.ts'
import { readState } from './protocol.ts'

test('the state is read from its line, and from no other', (t) => {
  t.same(readState('ST moving 300 0'), { mode: 'moving', speed: 300, error: 0 })
  t.same(readState('ST moving'), undefined)
})

test('it sets the speed and the time, and waits until it rests', async (t) => {
  const { device, run, written, clock, line } = await onSimulator(driver)
  await run(device.initialize({}, calm))
  written.length = 0
  const began = clock.now()
  await run(perform(device, 'OPERATION', { speed: 300, duration: 10 }))
  t.same(written.slice(0, 2), ['ST?\\r\\n', 'RUN 300 10\\r\\n'])
  t.ok(clock.now() - began >= 10_000)
  t.match(line.simulator.world, { moving: false })
})
`,
  'README.md': `# NAME

Driver \`NAME\`, a TYPE. **Nobody has tried this driver on an instrument.** It was made by \`benchd drivers new\`, with a stand-in for the instrument: put the real protocol
in its place, and write here what is known, before you write the code.

Marks: [H] seen in a program that runs on the real instrument · [M] manual · [V] tried against the simulator · [I] concluded · [G] from memory. No safety decision
rests on a [G] alone.

## Wiring

RS-232 with a USB adapter; 9600 baud, 8N1 [G].

## Settings

\`max_speed\`, in rpm: the fastest speed of the model [G].

## Words

Lines of ASCII with CR LF [G]. Each answer begins with the word of its question.

| line | answer |
|---|---|
| \`ID?\` | \`ID NAME 4711 1.0\`: model, serial number, firmware |
| \`ST?\` | \`ST idle 0 0\`: mode (\`idle\`, \`moving\`, \`failed\`), rpm, number of the error |
| \`RUN <rpm> <s>\` | \`RUN ok\`, and \`RUN no\` while it moves or has failed. The instrument keeps the time |
| \`STOP\` | \`STOP ok\`, at any moment |
| \`RESET\` | \`RESET ok\`; ends an error |

## What does not hold

- An instrument that was restarted while nothing ran is not noticed.
`,
}
