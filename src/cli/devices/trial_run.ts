// A trial under way: its steps so far, the wire, and how an operation is begun, halted and judged.

import { setTimeout as sleep } from 'node:timers/promises'
import type { Frame, Step } from '../../conformance/trial_file.ts'
import type { Capabilities, DeviceInfo } from '../../devices/records.ts'
import { messageOf } from '../../errors.ts'
import { ask, patiently, type Service } from '../client.ts'
import { pathOf } from './perform.ts'
import { type Answer, type Person, TrialEnded } from './trial_person.ts'

type Options = { service: Service; device_id: string; person: Person; settings: unknown }
/** The outcome of an operation: the answer of the bench, or its refusal. */
export type Outcome = { success: boolean; said: string }

/** The interval at which the wire is read; the service keeps the last 200 frames. */
const look_ms = 250

export class TrialRun {
  readonly steps: Step[] = []
  readonly wire: Frame[] = []
  readonly person: Person
  readonly device_id: string
  readonly settings: unknown
  readonly #service: Service
  #heard = 0

  constructor({ service, device_id, person, settings }: Options) {
    this.person = person
    this.device_id = device_id
    this.settings = settings
    this.#service = service
  }

  info(): Promise<DeviceInfo> {
    return ask(this.#service, 'GET', pathOf(this.device_id))
  }

  capabilities(): Promise<Capabilities> {
    return ask(this.#service, 'GET', `${pathOf(this.device_id)}/capabilities`)
  }

  /** Performs an operation, and reads the wire meanwhile. Never rejects, unless the person ends the trial. */
  async perform(operation: string, params: object = {}): Promise<Outcome> {
    const route = operation === 'initialize' ? 'initialize' : 'perform'
    const body = operation === 'initialize' ? {} : { operation, params }
    const asked = ask<{ success: boolean; message: string }>(patiently(this.#service), 'POST', `${pathOf(this.device_id)}/${route}`, body)
    const ended = asked.then(
      ({ success, message }): Outcome => ({ success, said: message }),
      (error): Outcome => ({ success: false, said: messageOf(error) }),
    )
    return this.during(ended)
  }

  /** Waits for the work, and reads the wire meanwhile. Rejects with `TrialEnded` as soon as the person ends the trial. */
  async during<Value>(work: Promise<Value>): Promise<Value> {
    let outcome: { value: Value } | undefined
    void work.then((value) => {
      outcome = { value }
    })
    for (;;) {
      if (this.person.gone.aborted) throw new TrialEnded()
      await this.#read()
      if (outcome) return outcome.value
      await Promise.race([work, sleep(look_ms, undefined, { signal: this.person.gone }).catch(() => undefined)])
    }
  }

  /** Waits until the device is so, at most that long. Returns whether it is. */
  async until(isSo: (info: DeviceInfo) => boolean, most_s: number): Promise<boolean> {
    for (const end = Date.now() + most_s * 1000; Date.now() < end; ) {
      if (isSo(await this.info())) return true
      await this.during(sleep(look_ms))
    }
    return false
  }

  /** Stops the device. Never rejects. */
  async halt(): Promise<Outcome> {
    const stopped = ask<{ success: boolean; message: string }>(this.#service, 'POST', `${pathOf(this.device_id)}/stop`, {})
    const outcome = await stopped.then(
      ({ success, message }): Outcome => ({ success, said: message }),
      (error): Outcome => ({ success: false, said: messageOf(error) }),
    )
    await this.#read().catch(() => undefined)
    return outcome
  }

  /** Notes a step. A step that failed by itself stays so, whatever the person answers. */
  note(
    step: Pick<Step, 'name'> & Partial<Step>,
    began: number,
    { isWell, answer }: { isWell: boolean; answer?: Answer | undefined },
  ): void {
    const note = answer?.is === 'note' ? answer.note : null
    const result = !isWell || answer?.is === 'no' ? 'fail' : answer?.is === 'skip' ? 'skipped' : note !== null ? 'deviation' : 'pass'
    const unlike = step.unlike_simulator ?? []
    const its: Step = {
      ...{ operation: null, params: {}, said: null, note, seconds: Math.round((Date.now() - began) / 100) / 10, unlike_simulator: unlike },
      ...step,
      result: result === 'pass' && unlike.length > 0 ? 'deviation' : result,
    }
    this.steps.push(its)
    this.person.say(`  ${its.result}: ${its.name}${its.said ? ` (${its.said})` : ''}`)
  }

  skipped(name: string): void {
    this.note({ name }, Date.now(), { isWell: true, answer: { is: 'skip' } })
  }

  async #read(): Promise<void> {
    const { frames } = await ask<{ frames: Frame[] }>(this.#service, 'GET', `${pathOf(this.device_id)}/wire`)
    // The last frame may still grow, so it waits for the next look.
    for (const { at, direction, hex } of frames) {
      const known = this.wire.at(-1)
      if (at === this.#heard && known?.at === at && known.direction === direction) known.hex = hex
      else if (at > this.#heard || (at === this.#heard && known?.direction !== direction)) this.wire.push({ at, direction, hex })
    }
    this.#heard = Math.max(this.#heard, frames.at(-1)?.at ?? 0)
  }
}
