// A run of a Hettich centrifuge. Its timer begins with the acceleration, so it is set again when the rotor has its speed.

import { LabError } from '../../src/errors.ts'
import { type Clock, sleep } from '../../src/kit/clock.ts'
import { codes, commands, type stateOf } from './protocol.ts'
import type { Talk } from './talk.ts'

const look_ms = 1000
/** A rotor has its speed within this part of it. How much a real one wavers is not known. */
const tolerance = 0.02
/** How much longer than its own limit an acceleration, a run and a braking may take. */
const late_s = 60
/** How much earlier than asked a run may end, by the steps of its timer and of the looks. */
const early_s = 4
/** The longest time of its timer. */
const longest_s = 59_999

type Parts = { talk: Talk; clock: Clock; state(): Promise<ReturnType<typeof stateOf>> }

export class Spin {
  readonly #parts: Parts
  readonly #asked: { rpm: number; duration: number }
  readonly #signal: AbortSignal

  constructor(parts: Parts, asked: { rpm: number; duration: number }, signal: AbortSignal) {
    this.#parts = parts
    this.#asked = asked
    this.#signal = signal
  }

  /** Runs until the rotor stands again. */
  async run(): Promise<void> {
    const { talk, clock, state } = this.#parts
    const { rpm, duration } = this.#asked
    const longestRunUp = await talk.ask(codes.longest_run_up)
    await this.#setTime(Math.min(longest_s, duration + longestRunUp), { rpm })
    if ((await state()).mayNotStart)
      throw new LabError('device_failed', 'it says that it cannot start now; see its display, then initialize')
    await talk.set(commands.spin, this.#signal)
    await this.#untilFast(longestRunUp)
    const began = clock.now()
    await this.#setTime(Math.min(longest_s, (await talk.ask(codes.elapsed)) + duration))
    await this.#untilBraking(began)
    await this.#untilStill()
  }

  /** Sets the time of its timer, and the speed if one is given, and reads both back. A setting that was lost must not become a longer run. */
  async #setTime(seconds: number, { rpm }: { rpm?: number } = {}): Promise<void> {
    const { talk } = this.#parts
    await talk.set({ code: codes.run_time, value: seconds }, this.#signal)
    if (rpm !== undefined) await talk.set({ code: codes.speed, value: rpm }, this.#signal)
    await talk.set(commands.activate, this.#signal)
    const wanted: [string, number | undefined][] = [
      [codes.run_time, seconds],
      [codes.speed, rpm],
    ]
    for (const [code, value] of wanted) {
      if (value === undefined) continue
      const taken = await talk.ask(code)
      if (taken !== value) throw new LabError('device_failed', `it has ${taken} in ${code} after ${value} was set; initialize it`)
    }
  }

  async #untilFast(longestRunUp: number): Promise<void> {
    const { talk } = this.#parts
    const { rpm } = this.#asked
    await this.#look(longestRunUp + late_s, 'it has not come to its speed', async (phase, seconds) => {
      if (phase === 'braking' || (phase === 'standstill' && seconds > 2))
        throw new LabError('device_failed', `it ended its run before it had ${rpm} rpm; see its display, then initialize`)
      return phase === 'centrifuging' && (await talk.ask(codes.actual_speed)) >= rpm * (1 - tolerance)
    })
  }

  async #untilBraking(began: number): Promise<void> {
    const { clock } = this.#parts
    const { duration } = this.#asked
    await this.#look(duration + late_s, 'its timer has not ended the run', async (phase) => phase === 'braking' || phase === 'standstill')
    const seconds = (clock.now() - began) / 1000
    if (seconds < duration - early_s)
      throw new LabError('device_failed', `it braked after ${Math.round(seconds)} s of ${duration} s; see its display, then initialize`)
  }

  #untilStill(): Promise<void> {
    return this.#look(600, 'its rotor still turns', async (phase) => phase === 'standstill')
  }

  /** Looks at it each second until `isThere`. An end of the operation, an error, or a restart rejects. */
  async #look(
    within_s: number,
    late: string,
    isThere: (phase: ReturnType<typeof stateOf>['phase'], seconds: number) => Promise<boolean>,
  ): Promise<void> {
    const { talk, clock, state } = this.#parts
    for (const began = clock.now(); ; ) {
      await talk.mustRunOn()
      const { phase } = await state()
      const seconds = (clock.now() - began) / 1000
      if (await isThere(phase, seconds)) return
      if (seconds > within_s) throw new LabError('device_failed', `${late} after ${Math.round(seconds)} s; see why, then initialize`)
      await sleep(clock, look_ms, this.#signal)
    }
  }
}
