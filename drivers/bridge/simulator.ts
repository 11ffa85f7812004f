// A simulated bridge program: the configuration gives its description, its durations, and its rate of failures.

import { type Description, type OwnOperation, ownOperations } from '../../src/devices/description.ts'
import { messageOf } from '../../src/errors.ts'
import { checked } from '../../src/kit/schema.ts'
import type { InstrumentEnd, MechanicalFault, Simulate, Simulator } from '../transports/simulator.ts'
import { WithMount } from '../with_mount.ts'

type SimulatedProgram = {
  readonly description: Description
  /** Keyed by operation: the share of failures, from 0 to 1. */
  failures: Readonly<Record<string, number>>
  /** The duration of a pick and of a place, s. */
  move_s: number
}

export const simulateBridge: Simulate<SimulatedProgram> = (at) => new BridgeSimulator(at)

const initialize_ms = 1000
const room_temperature = 22

type Question = { id: number; method: string; params?: Record<string, unknown> }
type Running = { id: number; operation: string; operation_id: unknown; ends: number; cancel(): void }

class BridgeSimulator extends WithMount<InstrumentEnd<SimulatedProgram>> implements Simulator {
  #known: { description: Description; operations: ReadonlyMap<string, OwnOperation> } | undefined
  readonly #faults = new Set<MechanicalFault>()
  #input = ''
  #running: Running | undefined
  #target: number | null = null
  /** The barcode of the labware before it; null while none was shown. */
  #shown: string | null = null
  /** The state of a transporter that does not move. */
  #state: 'unhomed' | 'idle' | 'stopped' | 'error' = 'unhomed'
  #gripper: 'empty' | 'full' = 'empty'

  get world() {
    const leaves = this.#running && this.#operations.get(this.#running.operation)?.leaves_on
    const { isCarrier } = this
    return {
      moving: leaves === 'motion' || (isCarrier && this.#running !== undefined),
      heating: this.#target !== null || leaves === 'heat',
      ...(isCarrier && { gripper: this.#gripper }),
    }
  }

  /** The operations of the present description, which may change while a simulated bench is open. */
  get #operations(): ReadonlyMap<string, OwnOperation> {
    const { description } = this.at.settings
    if (this.#known?.description !== description) this.#known = { description, operations: ownOperations(description) }
    return this.#known.operations
  }

  get isCarrier(): boolean {
    return this.at.settings.description.type === 'transporter'
  }

  receive(bytes: Uint8Array): void {
    const lines = (this.#input + Buffer.from(bytes).toString('utf8')).split('\n')
    this.#input = lines.pop()!
    for (const line of lines) this.#obey(line)
  }

  setFault(fault: MechanicalFault, present: boolean): boolean {
    if (present) this.#faults.add(fault)
    else this.#faults.delete(fault)
    if (present && fault !== 'interlock_open') this.#break(failures[fault], 'error')
    return true
  }

  /** A program with an operation `scan` reads the barcode that is shown. */
  show(barcode: string | null): boolean {
    this.#shown = barcode
    return barcode !== null && this.#operations.has('scan')
  }

  powerOff(): void {
    this.#running?.cancel()
    this.#running = undefined
    this.#target = null
    this.#state = 'unhomed'
  }

  #obey(line: string): void {
    const question = questionIn(line)
    if (!question) return
    const answers: Record<string, (question: Question) => void> = {
      describe: ({ id }) => this.#answer(id, this.at.settings.description),
      check: ({ id }) => this.#unlessBroken(id, () => this.#answer(id, {})),
      initialize: (asked) => this.#unlessBroken(asked.id, () => this.#initialize(asked)),
      ...(this.isCarrier && this.#moves()),
      perform: (asked) => this.#perform(asked),
      end: (asked) => this.#end(asked),
      halt: ({ id }) => {
        this.#break('it was halted', 'stopped')
        if (this.#state === 'idle') this.#state = 'stopped'
        this.#target = null
        this.#answer(id, {})
      },
      read: ({ id }) => this.#answer(id, { value: this.#target ?? room_temperature, target: this.#target }),
    }
    const answer = Object.hasOwn(answers, question.method) ? answers[question.method] : undefined
    if (answer) answer(question)
    else this.#refuse(question.id, 'invalid', `there is no method ${question.method}`)
  }

  #initialize(asked: Question): void {
    this.#begin(asked, 'initialize', initialize_ms, {}, () => {
      this.#state = 'idle'
    })
  }

  /** The methods of a transporter. Its pose is unknown, since a described arm has no geometry. */
  #moves(): Record<string, (question: Question) => void> {
    return {
      where: ({ id }) => this.#answer(id, { state: this.#running ? 'moving' : this.#state, gripper: this.#gripper, pose: null }),
      pick: (asked) => this.#move(asked, 'pick', { from: 'empty', to: 'full' }),
      place: (asked) => this.#move(asked, 'place', { from: 'full', to: 'empty' }),
    }
  }

  #move(asked: Question, verb: 'pick' | 'place', { from, to }: Record<'from' | 'to', 'empty' | 'full'>): void {
    const { id } = asked
    if (this.#faults.has('interlock_open')) this.#refuse(id, 'interlock', 'its door is open')
    else if (this.#gripper !== from) this.#refuse(id, 'interlock', `its gripper is ${this.#gripper}`)
    else
      this.#unlessBroken(id, () => {
        const result = this.#isFailing(verb) ? undefined : {}
        this.#begin(asked, verb, this.at.settings.move_s * 1000, result, (isDone) => {
          if (isDone) this.#gripper = to
          else this.#state = 'error'
        })
      })
  }

  #perform(question: Question): void {
    const { id, params: { operation: name, params } = {} } = question
    const operation = typeof name === 'string' ? this.#operations.get(name) : undefined
    if (typeof name !== 'string' || !operation) this.#refuse(id, 'invalid', `there is no operation ${String(name)}`)
    else if (this.#faults.has('interlock_open')) this.#refuse(id, 'interlock', 'its door is open')
    else this.#unlessBroken(id, () => this.#obeyed(question, name, operation, params))
  }

  #obeyed(question: Question, name: string, operation: OwnOperation, params: unknown): void {
    let given: Record<string, unknown>
    try {
      given = checked(operation.params, params ?? {}, name)
    } catch (error) {
      this.#refuse(question.id, 'invalid', messageOf(error))
      return
    }
    const done = { message: `${name} is done`, ...(name === 'scan' && this.#shown !== null && { data: { barcode: this.#shown } }) }
    this.#begin(question, name, operation.seconds(given) * 1000, this.#isFailing(name) ? undefined : done)
    if (name === 'set_temperature') this.#target = given.temperature === null ? null : Number(given.temperature)
  }

  #isFailing(name: string): boolean {
    return Math.random() < (this.at.settings.failures[name] ?? 0)
  }

  /** Begins an operation, which fails at its end without a `result`. `ended` is called at its end with whether it is done. */
  #begin(
    { id, params = {} }: Question,
    operation: string,
    ms: number,
    result: object | undefined,
    ended: (isDone: boolean) => void = () => {},
  ): void {
    if (this.#running) {
      this.#refuse(id, 'busy', `it is busy with ${this.#running.operation}`)
      return
    }
    const done = () => {
      this.#running = undefined
      ended(result !== undefined)
      if (result) this.#answer(id, result)
      else this.#refuse(id, 'device_failed', `${operation} failed, as its simulation was told to`)
    }
    const { operation_id } = params
    this.#running = { id, operation, operation_id, ends: this.at.clock.now() + ms, cancel: this.at.clock.after(ms, done) }
  }

  #end({ id, params = {} }: Question): void {
    const running = this.#running
    if (!running || running.operation_id !== params.operation_id) {
      this.#refuse(id, 'invalid', 'it does not run that')
      return
    }
    running.cancel()
    this.#running = undefined
    this.#answer(id, { seconds_left: Math.max(0, running.ends - this.at.clock.now()) / 1000 })
    this.#answer(running.id, {})
  }

  #break(why: string, state: 'stopped' | 'error'): void {
    const running = this.#running
    if (!running) return
    running.cancel()
    this.#running = undefined
    this.#state = state
    this.#refuse(running.id, 'device_failed', why)
  }

  #unlessBroken(id: number, go: () => void): void {
    const fault = (['jam', 'overtemperature'] as const).find((one) => this.#faults.has(one))
    if (fault) this.#refuse(id, 'device_failed', failures[fault])
    else go()
  }

  #refuse(id: number, reason: string, message: string): void {
    this.#say({ id, error: { code: -32_000, message, data: { reason } } })
  }

  #answer(id: number, result: object): void {
    this.#say({ id, result })
  }

  #say(message: object): void {
    this.at.send(Buffer.from(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`))
  }
}

const failures = { jam: 'something is jammed', overtemperature: 'it is too hot' }

function questionIn(line: string): Question | undefined {
  try {
    const { id, method, params } = JSON.parse(line)
    return typeof id === 'number' && typeof method === 'string' ? { id, method, params } : undefined
  } catch {
    return undefined
  }
}
