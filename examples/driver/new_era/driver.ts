// New Era NE-1000 syringe pumps. The pump ends a dispense by itself, at its volume.

import {
  type Device,
  described,
  Exchange,
  type Identity,
  type InferOutput,
  LabError,
  latin1,
  OperationRunner,
  onceStarted,
  repeatUntil,
  type SerialMount,
  serialDriver,
  sleep,
  v,
  WithMount,
} from 'benchd/driver'
import { alarmed } from './errors.ts'
import {
  type Answer,
  askDiameter,
  askDispensed,
  askState,
  askVersion,
  framer,
  readAnswer,
  readDispensed,
  readVersion,
  signature,
  stop,
} from './protocol.ts'
import { simulate } from './simulator.ts'

const settings = v.strictObject({
  max_rate: v.optional(described(v.pipe(v.number(), v.minValue(0.1), v.maxValue(50)), 'Fastest rate of the syringe', 'mL/min'), 20),
})
type Settings = InferOutput<typeof settings>
const reply_ms = 500
const isState = (frame: string) => readAnswer(frame)?.data === ''
const isAnswer = (frame: string) => ['', '?NA'].includes(readAnswer(frame)?.data ?? 'none')

export const driver = serialDriver<Settings>({
  type: 'syringe_pump',
  about: { instrument: 'New Era NE-1000' },
  typical: { initialize_s: 0.6 },
  settings,
  serial: { baud: 19200 },
  signature,
  profile: () => ({ model: 'NE-1000', limits: {}, features: { autonomous_timer: true } }),
  own: ({ max_rate }) => ({
    operations: {
      dispense: {
        summary: 'Dispense a volume',
        params: {
          properties: {
            volume: { type: 'number', minimum: 0.1, maximum: 10, unit: 'mL' },
            rate: { type: 'number', minimum: 0.1, maximum: max_rate, unit: 'mL/min' },
          },
          required: ['volume', 'rate'],
        },
        seconds: 60,
        margin_s: 6000,
        leaves_on: 'motion',
        returns: { dispensed: 'mL' },
      },
    },
    readings: { volume: { unit: 'mL' } },
  }),
  open: (at) => new Pump(at),
  simulate,
})

class Pump extends WithMount<SerialMount<Settings>> implements Device {
  #isReady = false
  readonly #runner = new OperationRunner(this.at.line)
  readonly #exchange = new Exchange<string, string>(this.at.line, {
    framer,
    encode: (command) => latin1(`${command}\r`),
    gap_ms: 20,
    resync: {
      question: askVersion,
      recognises: (frame) => readVersion(frame) !== undefined,
      second: { question: askDispensed, recognises: (frame) => readDispensed(frame) !== undefined },
    },
  })

  async identify(): Promise<Identity> {
    const { model, firmware_version } = readVersion(
      await this.#exchange.query(askVersion, { deadline_ms: reply_ms, accepts: (frame) => readVersion(frame) !== undefined }),
    )!
    return { model, serial_number: null, firmware_version }
  }

  async check(): Promise<void> {
    const { alarm } = await this.#state()
    if (alarm && (this.#isReady || alarm !== 'R')) throw alarmed(alarm)
  }

  readonly initialize = this.#runner.operation(async (_params: object, _signal) => {
    const identity = await this.identify()
    const first = await this.#state()
    const { status, alarm } = first.alarm ? await this.#state() : first
    if (status === 'I' || status === 'W' || status === 'X')
      throw new LabError('interlock', 'it pumps; wait until it stands, or stop it, then initialize')
    if (alarm) throw alarmed(alarm)
    this.#isReady = true
    return { identity }
  })

  readonly dispense = this.#runner.operation(async ({ volume, rate }: { volume: number; rate: number }, signal) => {
    const { status, alarm } = await this.#state()
    if (alarm) throw alarmed(alarm)
    if (status !== 'S' && status !== 'P') throw new LabError('interlock', 'it pumps already; stop it, then initialize')
    for (const command of [
      ...(status === 'P' ? [stop] : []),
      'CLD INF',
      'DIR INF',
      `VOL ${volume.toFixed(3).slice(0, 5)}`,
      `RAT ${rate.toFixed(3).slice(0, 5)} MM`,
    ])
      await this.#tell(command, signal)
    await this.#tell('RUN', signal)
    return onceStarted(async () => {
      for (;;) {
        await sleep(this.at.clock, 500, signal)
        const now = await this.#state()
        if (now.alarm) throw alarmed(now.alarm)
        if (now.status === 'S') break
        if (now.status !== 'I') throw new LabError('device_failed', 'somebody paused it at its buttons; see why, then initialize')
      }
      const dispensed = await this.volume()
      if (Math.abs(dispensed - volume) > 0.01 + volume * 0.01)
        throw new LabError('device_failed', `it dispensed ${dispensed} mL of ${volume} mL; see who stopped it, then initialize`)
      return { dispensed }
    })
  })

  async volume(): Promise<number> {
    return readDispensed(
      await this.#exchange.query(askDispensed, { deadline_ms: reply_ms, accepts: (frame) => readDispensed(frame) !== undefined }),
    )!
  }

  /** An answer to STP looks like that to any command, so the status in the answer to a question that only a halt asks is the evidence. */
  async halt(): Promise<void> {
    this.#runner.stop()
    this.#exchange.interrupt(stop)
    const stands = async () => {
      const accepts = (frame: string) => /^\d+\.?\d*$/.test(readAnswer(frame)?.data ?? '')
      const { status } = readAnswer(await this.#exchange.query(askDiameter, { deadline_ms: reply_ms, accepts }))!
      return !['I', 'W', 'X'].includes(status)
    }
    await repeatUntil(stands, () => this.#exchange.tell(stop), 'it still pumps after a stop')
  }

  async #tell(command: string, signal: AbortSignal): Promise<void> {
    signal.throwIfAborted()
    const { alarm, data } = readAnswer(await this.#exchange.command(command, { deadline_ms: reply_ms, accepts: isAnswer }))!
    if (alarm) throw alarmed(alarm)
    if (data !== '') throw new LabError('device_failed', `it did not take ${command}; see its display, then initialize`)
  }

  async #state(): Promise<Answer> {
    return readAnswer(await this.#exchange.query(askState, { deadline_ms: reply_ms, accepts: isState }))!
  }
}
