// The owner's way through one action: get the device, send for the other labware, come, wait for all, do it.

import { LabError, messageOf } from '../../errors.ts'
import type { IncidentCategory } from '../../events/incidents.ts'
import { once } from '../../kit/signal.ts'
import type { ActionPlan } from '../plans/plan.ts'
import { ActionRun } from './action.ts'
import { devicesOf, placesAhead, tipsUsed } from './ahead.ts'
import { BodyRun, timer } from './body.ts'
import type { Carrier } from './carrier.ts'
import { categoryOf, caused } from './causes.ts'
import { isLow, isSpent, type Labware } from './labware.ts'
import { getReady } from './learning.ts'
import type { MethodRun } from './method.ts'
import { goTo } from './moving.ts'
import { toGetReady } from './reaching.ts'
import { ActionExit, type Decision, Fatal, Interrupt, type PauseSite } from './recovery.ts'
import { request } from './requesting.ts'
import type { LabwareThread } from './thread.ts'
import { continued, elsewhere, leaveFor, verdict } from './verdicts.ts'
import { beginIn, keepsOf, openWindow, useOf } from './windows.ts'

export type Outcome = 'done' | 'action_left' | 'method_left'

/** As often as it takes: each attempt is a new action. */
export async function act(
  thread: LabwareThread,
  plan: ActionPlan,
  { method, key }: { method: MethodRun | null; key: string },
): Promise<Outcome> {
  const passed = (outcome: Outcome) => pass(thread, method, outcome)
  for (;;) {
    thread.become('RESOLVING_ACTION_LOCATION')
    const decided = thread.verdictOn(plan.path)
    const isSkipped = thread.skips.has(key)
    if (decided && decided !== 'RETRY' && !isSkipped) return passed(decidedAfterRestart(thread, plan, { method, decided }))
    const action = new ActionRun(thread, plan, method)
    thread.action = action
    try {
      if (isSkipped) throw new Interrupt('skip')
      await attempt(thread, action, key)
      action.end('COMPLETED', 'clean')
      openWindow(thread, plan)
      useTips(thread, plan, [...action.arrived.values()])
      return passed('done')
    } catch (error) {
      const left = await leave(thread, action, error)
      if (left !== 'again') return passed(left)
    } finally {
      thread.skips.delete(key)
      thread.letGo()
      thread.action = null
    }
  }
}

/** In the same turn in which the thread is in it no longer: in between nobody may put anything beside it. */
function pass(thread: LabwareThread, method: MethodRun | null, outcome: Outcome): Outcome {
  thread.retryOn = null
  method?.passed()
  return outcome
}

async function attempt(thread: LabwareThread, action: ActionRun, key: string): Promise<void> {
  if (action.plan.devices.length > 0) {
    await thread.skippable(key, () => bind(thread, action))
    await thread.skippable(key, () => sendForOthers(thread, action))
    // Somebody may take it away before the action begins.
    do await come(thread, action, key)
    while (missing(action).length > 0)
  } else await thread.skippable(key, () => thread.safePoint())
  if (thread.skips.has(key)) throw new Interrupt('skip')
  thread.become('EXECUTING_ACTION')
  action.status.become('AWAITING_CO_THREADS')
  action.begin()
  beginIn(action)
  await new BodyRun(thread, action).perform()
}

/** Brings the owner's labware, and waits for that of the others. */
async function come(thread: LabwareThread, action: ActionRun, key: string): Promise<void> {
  const isInput = action.inputs.includes(thread.labware.template)
  if (isInput) await goTo(thread, () => action.positionFor(thread))
  thread.become('AWAITING_CO_THREADS')
  if (isInput) action.arrive(thread)
  await thread.skippable(key, async () => {
    await gather(thread, action)
    await thread.safePoint('AWAITING_CO_THREADS')
    await keepAhead(thread, action)
  })
}

/** Begins no sooner than what must come after it in time can be kept for it. */
async function keepAhead(thread: LabwareThread, action: ActionRun): Promise<void> {
  const { plan, device } = action
  const keeps = keepsOf(thread, plan)
  if (!keeps || device === null) return
  const ask = {
    candidates: [{ device }],
    inputs: () => present(thread, action),
    after: placesAhead(thread),
    use: useOf(thread, plan),
    keeps,
  }
  const what = `${keeps[0]!.candidates.map(({ device }) => device).join(' or ')} to be free in time after ${plan.name}`
  for (;;) {
    try {
      await request(thread, { ...ask, what, mayPark: false })
      return
    } catch (error) {
      if (!(error instanceof Interrupt) || error.kind !== 'pause') throw error
      await thread.safePoint('AWAITING_CO_THREADS')
    }
  }
}

function missing({ inputs, arrived }: ActionRun): string[] {
  return inputs.filter((template) => !arrived.has(template))
}

/** Ends the action as what was thrown wants it, and answers how the owner goes on. Throws what ends the thread. */
async function leave(thread: LabwareThread, action: ActionRun, error: unknown): Promise<Outcome | 'again'> {
  if (error instanceof Interrupt && error.kind === 'skip') {
    action.end('SKIPPED', 'left')
    // It does not wait for a device any more.
    thread.become('RESOLVING_ACTION_LOCATION')
    return 'action_left'
  }
  if (error instanceof Interrupt) {
    action.end('ABORTED', thread.last_error !== null && error.kind === 'abort' ? 'thread_aborted' : 'left')
    throw error
  }
  if (error instanceof ActionExit) return left(action, error)
  if (error instanceof Fatal || action.plan.action.on_failure === 'ABORT') {
    action.end('ERRORED', 'left')
    throw error instanceof Fatal ? error : new Fatal(error)
  }
  if (!action.status.isTerminal) action.status.become('ERRORED')
  action.hold(messageOf(error))
  const { execution } = thread
  execution.incident(categoryOf(error, 'ACTION_FAILED'), `${action.plan.name} of ${thread.name} failed: ${messageOf(error)}`, thread, {
    recovery_action: 'THREAD_RECOVER_RETRY',
    error,
    detail: elsewhere(action.plan, action.device),
  })
  try {
    const decision = await thread.decisionAt('ACTION_BODY', error)
    if (decision === 'CONTINUE') continued(thread, action.plan)
    return left(action, verdict(thread, decision))
  } catch (interrupt) {
    action.end('ABORTED', 'thread_aborted')
    throw interrupt
  }
}

const outcomes = { again: 'again', done: 'done', action: 'action_left', method: 'method_left' } as const satisfies Record<
  ActionExit['what'],
  Outcome | 'again'
>

function left(action: ActionRun, { what }: ActionExit): Outcome | 'again' {
  action.end('ERRORED', what === 'again' ? 'again' : 'left')
  return outcomes[what]
}

/** Gets one of the devices, and brings it to where it takes commands. */
async function bind(thread: LabwareThread, action: ActionRun): Promise<void> {
  const { plan } = action
  const { scheduler } = thread.environment
  action.status.become('AWAITING_LOCATION_RESERVATION')
  const keeps = keepsOf(thread, plan)
  const device = await insist(thread, 'ACTION_RESOLUTION', async () => {
    const asking = thread.pausable(() =>
      request(thread, {
        ...wishOf(thread, plan),
        inputs: () => present(thread, action),
        guests: thread.execution.slots.changed,
        after: placesAhead(thread),
        use: useOf(thread, plan),
        ...(keeps && { keeps }),
        onWait: () => {
          // It may come from where it was parked.
          thread.become('RESOLVING_ACTION_LOCATION')
          thread.become('AWAITING_ACTION_RESERVATION')
        },
      }),
    )
    const candidate = await asking.catch((error) => {
      if (!(error instanceof Interrupt)) tell(thread, 'MOVE_RESOLUTION', error)
      throw error
    })
    thread.become('RESOLVING_ACTION_LOCATION')
    const { device } = candidate as { device: string }
    try {
      const clear = toGetReady(thread, device)
      if (clear) await clear
      try {
        await getReady(thread.environment, device, thread.signal)
      } finally {
        scheduler.worked(device)
      }
    } catch (error) {
      scheduler.release(thread.thread_id, device)
      if (error instanceof Interrupt) throw error
      if (thread.signal.aborted) throw new Interrupt('abort')
      thread.execution.incident(categoryOf(error, 'DEVICE_INIT_FAILED'), `${device} cannot be used: ${messageOf(error)}`, thread, {
        recovery_action: 'THREAD_RECOVER_RETRY',
        error,
        detail: elsewhere(plan, device),
      })
      throw error
    }
    return device
  })
  thread.hold(device)
  action.status.become('RESOLVED')
  thread.become('ACTION_LOCATION_RESOLVED')
  action.bind(device)
}

/** The action asks for any device of its plan, or for the one that an operator has chosen. */
function wishOf({ retryOn }: LabwareThread, plan: ActionPlan) {
  if (retryOn?.path === plan.path) return { what: retryOn.device, candidates: [{ device: retryOn.device }] }
  return { what: plan.devices.join(' or '), candidates: devicesOf(plan) }
}

/**
 * Labware of those who take part already may stand at the device, and of those who will be sent for; that of those who are not needed
 * now only if there is room for it.
 */
function present({ method, execution }: LabwareThread, { plan, inputs, owner }: ActionRun): string[] {
  const all = method?.participants ?? []
  const { devices } = execution.workflow.topology
  const sites = Math.min(...plan.devices.map((device) => devices.get(device)!.sites))
  const needed = all.filter(({ labware }) => inputs.includes(labware.template))
  const hasRoom = all.length - needed.length + inputs.length <= sites
  const others = inputs.filter((template) => template !== owner.labware.template)
  const called = method ? execution.slots.likely(method, others) : []
  return [...new Set([...(hasRoom ? all : needed), ...called])].map(({ labware }) => labware.labware_id)
}

/** Does it until it succeeds, or somebody decides that it is not to be. */
export async function insist<Value>(thread: LabwareThread, site: PauseSite, work: () => Promise<Value>): Promise<Value> {
  for (;;) {
    try {
      return await work()
    } catch (error) {
      if (error instanceof Interrupt || error instanceof ActionExit || error instanceof Fatal) throw error
      if (thread.signal.aborted) throw new Interrupt('abort')
      tell(thread, site, error)
      const decision = await thread.decisionAt(site, error)
      if (decision !== 'RETRY') throw new Interrupt('abort')
      thread.recovered()
    }
  }
}

/** What a person has to be called for; a device that cannot be used, or had, was reported where that was found. */
const categories: Partial<Record<PauseSite, IncidentCategory>> = {
  MOVE_RESOLUTION: 'MOVE_FAILED',
  SPAWN_CAPACITY: 'AUTO_SPAWN_FAILED',
  THREAD_STEP: 'OTHER',
  WAIT_EVENT_TIMEOUT: 'RECOVERABLE_TIMEOUT',
}

function tell(thread: LabwareThread, site: PauseSite, error: unknown): void {
  const category = categories[site]
  if (!category) return
  const more = { recovery_action: 'THREAD_RECOVER_RETRY', error } as const
  thread.execution.incident(category, `thread ${thread.name} cannot go on: ${messageOf(error)}`, thread, more)
}

/** The others come when the device is held: any sooner and they would crowd the ways to it. */
async function sendForOthers(thread: LabwareThread, action: ActionRun): Promise<void> {
  const { plan } = action
  const { method } = thread
  const others = action.inputs.filter((template) => template !== thread.labware.template)
  if (!method || others.length === 0) return
  let isRetry = false
  await insist(thread, 'SPAWN_CAPACITY', async () => {
    const isSentFor = thread.execution.slots.deliver(method, others, { isRetry })
    isRetry = true
    if (!isSentFor) throw new LabError('conflict', `${plan.name} needs ${others.join(' and ')}, and who brings it takes on no more`)
  })
}

/** Until all labware is there. */
async function gather(thread: LabwareThread, action: ActionRun): Promise<void> {
  const { method } = thread
  while (method && isWaitedFor(thread, action)) {
    await thread.safePoint('AWAITING_CO_THREADS')
    try {
      await untilHere(thread, action, method)
    } catch (error) {
      if (!(error instanceof Interrupt) || error.kind !== 'pause') throw error
    }
  }
}

/** Not without its own, which somebody may have taken away: that has to come first. */
function isWaitedFor(thread: LabwareThread, action: ActionRun): boolean {
  const absent = missing(action)
  return absent.length > 0 && !absent.includes(thread.labware.template)
}

/** Rejects with `no_reply` where it takes longer than the action allows; that counts anew after a pause. */
function untilHere(thread: LabwareThread, action: ActionRun, method: MethodRun): Promise<void> {
  const { execution, environment, thread_id } = thread
  const bearers = () => execution.slots.bearers(method, missing(action))
  const what = `${missing(action).join(' and ')} to come to ${action.device}`
  return thread.wait<void>({ kind: 'peer', what, awaits: bearers }, (resolve, reject) => {
    const cancelTimeout = timer(environment.clock, timeoutOf(action.plan), () => {
      callOff()
      reject(tooLate(thread, action, execution.slots.bearers(method, missing(action))))
    })
    const over = (end: () => void) => {
      cancelTimeout()
      end()
    }
    const callOff = once(method.changed, () => {
      if (method.isAbandoned) over(() => reject(new ActionExit('method')))
      else environment.scheduler.awaits(thread_id, bearers())
      return !isWaitedFor(thread, action) || undefined
    })(() => over(resolve))
    return () => over(callOff)
  })
}

function timeoutOf({ action }: ActionPlan): number {
  return ('labware_timeout' in action && action.labware_timeout) || 0
}

/** With what keeps those who bring it. */
function tooLate({ execution }: LabwareThread, action: ActionRun, bearers: readonly string[]): unknown {
  const { plan, device } = action
  const absent = missing(action).join(' and ')
  const names = bearers.flatMap((id) => execution.find(id) ?? []).map((thread) => `${thread.name} ${doing(thread)}`)
  const why = names.length > 0 ? names.join('; ') : 'nobody brings it'
  return caused(
    'CO_LABWARE_TIMEOUT',
    new LabError('no_reply', `${absent} did not come to ${device} within ${timeoutOf(plan)} s for ${plan.name}: ${why}`),
  )
}

function doing({ waiting, status }: LabwareThread): string {
  return waiting ? `waits for ${waiting.what}` : `is ${status.current}`
}

/** Somebody has said what became of an action that a restart interrupted: it is not begun again, and the thread goes on, also while its run stands. */
function decidedAfterRestart(
  thread: LabwareThread,
  plan: ActionPlan,
  { method, decided }: { method: MethodRun | null; decided: Exclude<Decision, 'ABORT_THREAD'> },
): Outcome {
  if (decided === 'CONTINUE') {
    continued(thread, plan)
    useTips(thread, plan, method ? [thread, ...method.participants] : [thread])
  }
  const outcome = outcomes[leaveFor(decided).what]
  return outcome === 'again' ? 'done' : outcome
}

/** Takes what was used from the racks, and tells when one is low or empty. */
function useTips(thread: LabwareThread, plan: ActionPlan, carriers: readonly Carrier[]): void {
  for (const carrier of carriers) {
    const { labware } = carrier
    const used = tipsUsed(plan, labware.template)
    if (used === 0 || labware.tips_left === null) continue
    carrier.touch()
    labware.tips_left = Math.max(0, labware.tips_left - used)
    if (isSpent(labware)) thread.execution.emit('TIP_RACK', '', 'EMPTY', rackContext(thread, labware))
    else if (isLow(labware)) thread.execution.emit('TIP_RACK', '', 'LOW', rackContext(thread, labware))
  }
}

/** Who used the tips, and which rack it is. */
function rackContext(thread: Carrier, { labware_id, name, template, tips_left }: Labware) {
  const position = thread.environment.scheduler.whereIs(labware_id) ?? null
  return { ...thread.context(), labware_id, labware_name: name, labware_template_name: template, position, tips_left }
}
