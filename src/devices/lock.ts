// Who has a device for itself: an execution that runs. What others ask of it is refused meanwhile, but for readings and a stop.

import { LabError } from '../errors.ts'
import type { Lock } from './records.ts'

/** Somebody outside. `override` is the word of one who may say that a lock does not count. */
export type Caller = { override: boolean }

export class DeviceLock {
  readonly #device_id: string
  #execution_id: string | null = null
  /** How often its execution holds it: several of its threads may. */
  #holds = 0

  constructor(device_id: string) {
    this.#device_id = device_id
  }

  /** Of the execution that holds it. */
  get execution_id(): string | null {
    return this.#execution_id
  }

  /** As it is told; null when anybody may use the device. */
  get told(): Lock | null {
    return this.#execution_id === null ? null : { owner: `execution ${this.#execution_id}`, note: null, expires_at: null }
  }

  /** Holds it for an execution, and answers how to let go; calling that twice does no harm. Throws `locked` when it is another's. */
  hold(execution_id: string): () => void {
    if (this.#execution_id !== null && this.#execution_id !== execution_id) throw this.#locked()
    this.#execution_id = execution_id
    this.#holds++
    let held = true
    return () => {
      if (held) this.#letGo()
      held = false
    }
  }

  /** Throws `locked`, saying who holds it, unless the caller may use the device. */
  admit({ override }: Caller): void {
    if (this.#execution_id !== null && !override) throw this.#locked()
  }

  #locked(): LabError {
    return new LabError(
      'locked',
      `${this.#device_id} is held by execution ${this.#execution_id}; wait until that lets go of it, or pass with a key of scope admin and X-Override: true`,
    )
  }

  #letGo(): void {
    this.#holds--
    if (this.#holds === 0) this.#execution_id = null
  }
}
