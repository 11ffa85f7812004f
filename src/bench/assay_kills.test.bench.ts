// A simulated bench that survives the services that drive it. It knows where labware really is, which instruments work, and what they have done.

import type { ActionState } from '../workflow/state/run.ts'

/** Where a labware is: at a place, or in a gripper. */
export type Place = { position: string } | { arm: string }

/** The work of an instrument or a person. `name` identifies the action across restarts; its id is new for each attempt. */
export type Deed =
  | { performs: string; device_id: string; action_id: string; name: string }
  | { performed: string }
  | { arm: string; verb: 'pick' | 'place'; position: string; labware_id: string | null }
  | { arm: string; isDone: true }
  | { by_hand: string; labware_id: string }

export type EndedThread = { thread: string; thread_id: string; labware_id: string; state: string; tips_left: number | null }

/** A line of the service. */
export type Said =
  | Deed
  | { boundary: string }
  /** The service does nothing from now on. */
  | { stops: true }
  /** After a restart, before anything moves. */
  | { stands: { thread: string; interrupted: ActionState | null; why: string | undefined }[]; reason: string | undefined }
  /** The operator decides that this action is done. */
  | { continues: string }
  | { over: string; slots: object[]; threads: EndedThread[] }
  | { fault: string }

export class Bench {
  readonly problems: string[] = []
  readonly #places = new Map<string, Place>()
  readonly #moves = new Map<string, Extract<Deed, { verb: string }>>()
  /** Keyed by the id of the action, as are the next two. */
  readonly #works = new Map<string, Extract<Deed, { performs: string }>>()
  readonly #begun = new Set<string>()
  readonly #done = new Map<string, string>()

  hear(deed: Deed): void {
    if ('performs' in deed) this.#begins(deed)
    else if ('performed' in deed) this.#ends(deed.performed)
    else if ('verb' in deed) this.#takes(deed)
    else if ('arm' in deed) this.#carries(deed.arm)
    else this.#places.set(deed.labware_id, { position: deed.by_hand })
  }

  /** After a kill: completes each operation and motion in progress, or not, as `isDone` says. Returns what was in progress. */
  settle(isDone: () => boolean): 'work' | 'move' | 'nothing' {
    const amid = this.#works.size > 0 ? 'work' : this.#moves.size > 0 ? 'move' : 'nothing'
    for (const arm of [...this.#moves.keys()]) if (isDone()) this.#carries(arm)
    for (const action_id of [...this.#works.keys()]) if (isDone()) this.#ends(action_id)
    this.#moves.clear()
    this.#works.clear()
    return amid
  }

  /** Returns what an operator sees: the places of labware, and the ids of the done actions. */
  found(): { places: Record<string, Place>; done: string[] } {
    return { places: Object.fromEntries(this.#places), done: [...this.#done.keys()] }
  }

  hasBegun(action_id: string): boolean {
    return this.#begun.has(action_id)
  }

  whereIs(labware_id: string): string {
    const place = this.#places.get(labware_id)
    return place === undefined ? 'nowhere' : 'position' in place ? place.position : `held by ${place.arm}`
  }

  /** Lists each action as often as it was done. */
  deeds(): string[] {
    return [...this.#done.values()].sort()
  }

  #begins(work: Extract<Deed, { performs: string }>): void {
    const other = [...this.#works.values()].find(({ device_id }) => device_id === work.device_id)
    if (other) this.problems.push(`${work.device_id} is told to ${work.performs} for ${work.name} while it works for ${other.name}`)
    this.#begun.add(work.action_id)
    this.#works.set(work.action_id, work)
  }

  #ends(action_id: string): void {
    this.#done.set(action_id, this.#works.get(action_id)!.name)
    this.#works.delete(action_id)
  }

  /** Notes a pick or place. Labware from a storage appears when it is first picked. */
  #takes(move: Extract<Deed, { verb: string }>): void {
    const { arm, verb, position, labware_id } = move
    const [gripped] = [...this.#places].find(([, place]) => 'arm' in place && place.arm === arm) ?? []
    const known = this.#places.get(labware_id ?? '')
    const wrong = (why: string) => this.problems.push(`${arm} is to ${verb} ${labware_id} at ${position}: ${why}`)
    if (verb === 'pick' && gripped) wrong(`${gripped} is in its gripper`)
    if (verb === 'pick' && known && !('position' in known && known.position === position)) wrong(`it is at ${this.whereIs(labware_id!)}`)
    if (verb === 'place' && (!gripped || gripped !== labware_id)) wrong(`${gripped ?? 'nothing'} is in its gripper`)
    this.#moves.set(arm, move)
  }

  #carries(arm: string): void {
    const { verb, position, labware_id } = this.#moves.get(arm)!
    this.#places.set(labware_id ?? '', verb === 'pick' ? { arm } : { position })
    this.#moves.delete(arm)
  }
}
