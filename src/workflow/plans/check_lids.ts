// Checks the lids of a workflow: each closes one plate, lies where nothing else needs to be, and is off or on where a device wants it so.

import { member, mustBeKnown, wrong } from './mistakes.ts'
import type { Draft } from './outline.ts'
import { type ActionPlan, allSteps, lidOf, own, type StepPlan, type ThreadPlan, takes } from './plan.ts'
import type { Topology } from './topology.ts'

/** The operations of plates that have no lid on, on any device. */
const wantOff: ReadonlySet<string> = new Set(['seal', 'peel'])

export type LidState = 'on' | 'off'

/** Returns how the lids of the labware of an action must be at a device; undefined where both are right. */
export function lidWanted({ action }: ActionPlan, device: string, { document }: Topology): LidState | undefined {
  if ('lid' in action && action.lid) return action.lid
  if (!('do' in action)) return undefined
  return document.devices[device]?.operations[action.do]?.lid ?? (wantOff.has(action.do) ? 'off' : undefined)
}

/** Throws `invalid`, naming the place. For an insert, only what does not depend on the order of the steps is checked. */
export function checkLids(draft: Draft, { isInsert }: { isInsert: boolean }): void {
  checkTemplates(draft)
  for (const method of draft.methods.values())
    for (const action of method.actions)
      checkAction(
        action,
        draft,
        method.owners.map((owner) => draft.threads.get(owner)!),
      )
  for (const thread of draft.threads.values()) {
    for (const step of allSteps(thread.steps)) if (step.kind === 'action') checkAction(step.action, draft, [thread])
    if (!isInsert && lidOf(draft.document, thread.labware) !== undefined) new LidWalk(draft, thread).follow()
  }
}

function checkTemplates({ document, threads, where }: Draft): void {
  const closed = new Map<string, string>()
  for (const [name, labware] of Object.entries(document.labware)) {
    const at = `${where}: ${member('labware', name)}`
    if (labware.kind !== 'lid') {
      const extra = (['on', 'lid_height_mm', 'grip_offset_mm', 'pad_offset_mm'] as const).find((word) => labware[word] !== undefined)
      if (extra) throw wrong(`${at}.${extra}`, `${name} is a ${labware.kind}, and only a lid has ${extra}; its kind must be lid`)
      continue
    }
    if (labware.on === undefined) throw wrong(at, `a lid closes a plate; say which with "on"`)
    mustBeKnown('labware', labware.on, Object.keys(document.labware), `${at}.on`)
    const { kind } = document.labware[labware.on]!
    if (kind !== 'plate') throw wrong(`${at}.on`, `${labware.on} is a ${kind}, and only a plate has a lid`)
    const other = closed.get(labware.on)
    if (other) throw wrong(`${at}.on`, `${other} is on ${labware.on} already; a plate has one lid`)
    closed.set(labware.on, name)
    const carrier = [...threads.values()].find((thread) => thread.labware === name)
    if (carrier) throw wrong(`${where}: threads.${carrier.name}.labware`, `${name} is a lid, and goes with ${labware.on}; it has no thread`)
    if (labware.group_sharing !== 'PER_GROUP' || labware.submission_batching !== 'NOT_BATCHABLE')
      throw wrong(at, `a lid is shared as its plate is; say that in labware.${labware.on}`)
    if (labware.tips !== undefined) throw wrong(`${at}.tips`, `${name} is a lid, and has no tips`)
  }
}

/** `owners` are the threads that may do the action. */
function checkAction(plan: ActionPlan, { document, topology, where }: Draft, owners: readonly ThreadPlan[]): void {
  const at = `${where}: ${plan.path}`
  const lid = plan.labware.find((name) => document.labware[name]?.kind === 'lid')
  if (lid) throw wrong(`${at}.labware`, `${lid} is a lid, and goes with ${document.labware[lid]!.on}; name that`)
  if (plan.kind !== 'remove_lid' && plan.kind !== 'put_lid') return
  const word = plan.kind
  const name = 'remove_lid' in plan.action ? plan.action.remove_lid : plan.action.put_lid
  mustBeKnown('labware', name, Object.keys(document.labware), `${at}.${word}`)
  const { kind, on } = document.labware[name]!
  if (kind !== 'lid') throw wrong(`${at}.${word}`, `${name} is a ${kind}; its kind must be lid`)
  const other = owners.find(({ labware }) => labware !== on)
  if (other)
    throw wrong(
      `${at}.${word}`,
      `${name} is on ${on}, and thread ${other.name} carries ${other.labware}; a thread moves the lid of its own plate`,
    )
  if (plan.kind !== 'remove_lid') return
  for (const position of plan.positions) {
    const why = whyNotThere(position, topology)
    if (why) throw wrong(`${at}.to`, `a lid cannot lie at ${position}: ${why}; name a position of the deck`)
  }
  if (plan.positions.every((position) => topology.graph.positions.get(position)!.parking))
    throw wrong(
      `${at}.to`,
      `the plate itself may be parked at ${plan.positions.join(', ')}; name a position that is no parking position too`,
    )
}

function whyNotThere(position: string, { graph }: Topology): string | undefined {
  const { device, storage, slot, handover } = graph.positions.get(position)!
  if (device !== null) return `it is the nest of ${device}`
  if (slot !== null || storage) return 'it is a storage'
  if (handover) return 'carriers bring labware there'
  if (graph.isHandOver(position) || graph.sameZone(position).length > 1) return 'labware passes there on its way'
  return undefined
}

/** How the lid may be after the steps so far, and where its plate may stand. */
type Known = { lids: ReadonlySet<LidState>; at: ReadonlySet<string>; pads: ReadonlySet<string> }

/** Follows the lid of a thread's plate through its steps, on each way. */
class LidWalk {
  readonly #draft: Draft
  readonly #thread: ThreadPlan
  /** The last action before, on whose window the move of a lid would count. */
  #before: ActionPlan | null = null

  constructor(draft: Draft, thread: ThreadPlan) {
    this.#draft = draft
    this.#thread = thread
  }

  follow(): void {
    const { steps, start } = this.#thread
    this.#steps(steps, { lids: new Set(['on']), at: new Set([start.position, ...(start.slots ?? [])]), pads: new Set() })
  }

  #steps(steps: readonly StepPlan[], from: Known): Known {
    return steps.reduce((known, step) => this.#step(step, known), from)
  }

  #step(step: StepPlan, known: Known): Known {
    switch (step.kind) {
      case 'method':
        return step.method.actions.reduce((so, action) => this.#act(action, so, true), known)
      case 'action':
        return this.#act(step.action, known, true)
      case 'join':
        return this.#join(step.methods, known)
      case 'park':
        return { ...known, at: new Set([...known.at, ...step.positions]) }
      case 'if':
        return united([this.#steps(step.then.steps, known), this.#steps(step.otherwise.steps, known)])
      case 'branch': {
        const sides = [...step.cases.values(), ...(step.otherwise ? [step.otherwise] : [])]
        return united(sides.map(({ steps }) => this.#steps(steps, known)))
      }
      case 'repeat':
        return this.#rounds(step.body.steps, known)
      case 'while_more_work':
        return united([known, this.#rounds(step.body.steps, known)])
      default:
        return known
    }
  }

  /** Goes through the steps of a loop until another round changes nothing: twice at the most, because the known only grows. */
  #rounds(steps: readonly StepPlan[], known: Known): Known {
    const once = this.#steps(steps, known)
    return united([once, this.#steps(steps, united([known, once]))])
  }

  #join(names: readonly string[], known: Known): Known {
    const after = names.map((name) => {
      const actions = this.#draft.methods.get(name)!.actions.filter(({ labware }) => labware.includes(this.#thread.labware))
      return actions.reduce((so, action) => this.#act(action, so, false), known)
    })
    return united(after)
  }

  #act(plan: ActionPlan, known: Known, isOwner: boolean): Known {
    const { topology, where } = this.#draft
    const at = `${where}: ${plan.path}`
    if (plan.kind === 'remove_lid' || plan.kind === 'put_lid') {
      if (!isOwner) return known
      return this.#moveLid(plan, known, at)
    }
    if (plan.devices.length === 0) return known
    const { labware } = this.#thread
    if (!takes(plan, labware, labware) && !plan.labware.includes(own)) return known
    this.#before = plan
    for (const device of plan.devices) this.#mustBeRight(plan, device, known, at)
    return { ...known, at: new Set(plan.devices.flatMap((device) => topology.graph.positionsOf(device).map(({ name }) => name))) }
  }

  #mustBeRight(plan: ActionPlan, device: string, { lids }: Known, at: string): void {
    const wanted = lidWanted(plan, device, this.#draft.topology)
    // Where the lid may be either way, the run looks right before.
    if (!wanted || lids.has(wanted)) return
    const { labware } = this.#thread
    const lid = lidOf(this.#draft.document, labware)!
    const remedy = wanted === 'off' ? `{"remove_lid": "${lid}", "to": "…"}` : `{"put_lid": "${lid}"}`
    throw wrong(
      at,
      `${plan.name} at ${device} wants the lid of ${labware} ${wanted}, and it is ${[...lids][0]} there; write ${remedy} before it`,
    )
  }

  #moveLid(plan: ActionPlan & { kind: 'remove_lid' | 'put_lid' }, { lids, at: places, pads }: Known, at: string): Known {
    const { kind } = plan
    const lid = lidOf(this.#draft.document, this.#thread.labware)!
    const wanted = kind === 'remove_lid' ? 'on' : 'off'
    if (!lids.has(wanted))
      throw wrong(at, `${lid} is ${wanted === 'on' ? 'off already' : 'on already'} on each way to here; leave this out`)
    if (this.#before?.action && 'max_wait_after' in this.#before.action && this.#before.action.max_wait_after !== undefined)
      throw wrong(
        at,
        `${this.#before.name} has max_wait_after, and no time is kept for the move of a lid in a window; move the lid before it`,
      )
    const targets = kind === 'remove_lid' ? plan.positions : [...pads]
    for (const place of places) for (const pad of targets) this.#mustBeNear(place, pad, lid, at)
    if (kind === 'put_lid') return { lids: new Set(['on']), at: places, pads: new Set() }
    return { lids: new Set(['off']), at: places, pads: new Set([...(lids.has('off') ? pads : []), ...plan.positions]) }
  }

  #mustBeNear(place: string, pad: string, lid: string, at: string): void {
    const { graph } = this.#draft.topology
    const { entry, storage } = graph.positions.get(place)!
    // Labware is taken out of a storage for its first device.
    if (storage || graph.positions.get(place)!.slot !== null || place === pad) {
      const why = place === pad ? 'its plate may stand at that position' : `its plate may still be in ${entry}`
      throw wrong(at, `${lid} cannot be moved here: ${why}; name other positions, or bring the plate to a device first`)
    }
    if (graph.transportersBetween(place, pad).length > 0) return
    throw wrong(at, `no transporter reaches both ${place}, where the plate of ${lid} may stand, and ${pad}; name a position near ${place}`)
  }
}

function united(all: readonly Known[]): Known {
  const sum = <Item>(sets: readonly ReadonlySet<Item>[]) => new Set(sets.flatMap((set) => [...set]))
  return { lids: sum(all.map(({ lids }) => lids)), at: sum(all.map(({ at }) => at)), pads: sum(all.map(({ pads }) => pads)) }
}
