// The owner's way through one action, in a straight line: reserve the device, summon the other labware, transport the own, gather all, execute the
// body, release the device.

import { LabError, messageOf } from '../../errors.ts'
import { once } from '../../kit/signal.ts'
import { type ActionPlan, otherDevices } from '../plans/plan.ts'
import { ActionRun } from './action.ts'
import { tipsUsed } from './ahead.ts'
import { BodyRun } from './body.ts'
import type { Carrier } from './carrier.ts'
import { categoryOf, caused } from './causes.ts'
import { deviceFor, devicesAfter } from './claims.ts'
import { isLow, isSpent, type Labware } from './labware.ts'
import { getReady } from './learning.ts'
import type { MethodRun } from './method.ts'
import { toGetReady } from './reaching.ts'
import { ActionExit, Fatal, Interrupt } from './recovery.ts'
import { goTo, request } from './routing.ts'
import { timer } from './run_environment.ts'
import type { LabwareThread } from './thread.ts'
import { beginIn, openWindow } from './windows.ts'

/** Where the owner goes on after an action: the next action as it is done or left out, or what comes after the method. */
export type Outcome = Exclude<ActionExit['to'], 'again'>

/** Takes the owner through an action, as often as it takes: each attempt is a new action. */
export async function act(
  thread: LabwareThread,
  plan: ActionPlan,
  { method, key }: { method: MethodRun | null; key: string },
): Promise<Outcome> {
  for (;;) {
    thread.become('RESOLVING_ACTION_LOCATION')
    const left = thread.leftByRestart(plan.path)
    const isSkipped = thread.isToSkip(key)
    if (left && !isSkipped) {
      // Somebody has said what became of the action. Its thread goes on, also while its run stands.
      if (left === 'done') {
        thread.dealtWith(plan)
        useTips(thread, plan, method ? [thread, ...method.participants] : [thread])
      }
      return passed(thread, method, left)
    }
    const action = new ActionRun(thread, plan, method)
    thread.action = action
    try {
      if (isSkipped) throw new Interrupt('skip')
      await attempt(thread, action, key)
      action.end('COMPLETED', 'clean')
      openWindow(thread, plan)
      useTips(thread, plan, [...action.arrived.values()])
      return passed(thread, method, 'done')
    } catch (error) {
      const to = await leave(thread, action, error)
      if (to !== 'again') return passed(thread, method, to)
    } finally {
      thread.forgetSkip(key)
      thread.releaseDevice()
      thread.action = null
    }
  }
}

/** The action is over for its owner. */
function passed(thread: LabwareThread, method: MethodRun | null, to: Outcome): Outcome {
  thread.set({ retry_on: null })
  // In the same turn: in between nobody may put an action beside it.
  method?.passed(to === 'done')
  return to
}

/** The stages of an action in their order: reserve, summon, transport, gather, execute. The caller releases the device. */
async function attempt(thread: LabwareThread, action: ActionRun, key: string): Promise<void> {
  if (action.plan.devices.length > 0) {
    await thread.skippable(key, () => reserve(thread, action))
    await thread.skippable(key, () => summon(thread, action))
    // Somebody may take labware away before the action begins.
    do await bringTogether(thread, action, key)
    while (missing(action).length > 0)
  } else await thread.skippable(key, () => thread.safePoint())
  if (thread.isToSkip(key)) throw new Interrupt('skip')
  thread.become('EXECUTING_ACTION')
  action.status.become('AWAITING_CO_THREADS')
  action.begin()
  beginIn(action)
  await new BodyRun(thread, action).perform()
}

/** Gets one of the devices of the action, and makes it ready. */
async function reserve(thread: LabwareThread, action: ActionRun): Promise<void> {
  action.status.become('AWAITING_LOCATION_RESERVATION')
  const device = await thread.insist('ACTION_RESOLUTION', async () => {
    const asking = thread.pausable(() =>
      request(thread, {
        ...deviceFor(thread, action),
        guests: thread.execution.slots.changed,
        onWait: () => {
          // The labware may come from where it was parked.
          thread.become('RESOLVING_ACTION_LOCATION')
          thread.become('AWAITING_ACTION_RESERVATION')
        },
      }),
    )
    const candidate = await asking.catch((error) => {
      if (!(error instanceof Interrupt)) thread.cannotGoOn('MOVE_FAILED', error)
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
        thread.environment.scheduler.worked(device)
      }
    } catch (error) {
      throw refused(thread, action.plan, { device, error })
    }
    return device
  })
  thread.takeDevice(device)
  action.status.become('RESOLVED')
  thread.become('ACTION_LOCATION_RESOLVED')
  action.bind(device)
}

/** Gives back a device that did not get ready. Answers what is to be thrown. */
function refused(thread: LabwareThread, plan: ActionPlan, { device, error }: { device: string; error: unknown }): unknown {
  thread.environment.scheduler.release(thread.thread_id, device)
  if (error instanceof Interrupt) return error
  if (thread.signal.aborted) return new Interrupt('abort')
  thread.execution.incident(categoryOf(error, 'DEVICE_INIT_FAILED'), `${device} cannot be used: ${messageOf(error)}`, thread, {
    recovery_action: 'THREAD_RECOVER_RETRY',
    error,
    detail: otherDevices(plan, device),
  })
  return error
}

/** Sends for the other labware once the device is held: any sooner, and the labware would crowd the ways to it. */
async function summon(thread: LabwareThread, action: ActionRun): Promise<void> {
  const { plan } = action
  const { method } = thread
  const others = action.inputs.filter((template) => template !== thread.labware.template)
  if (!method || others.length === 0) return
  let isRetry = false
  await thread.insist('SPAWN_CAPACITY', async () => {
    const isSentFor = thread.execution.slots.deliver(method, others, { isRetry })
    isRetry = true
    if (!isSentFor) throw new LabError('conflict', `${plan.name} needs ${others.join(' and ')}, and who brings it takes on no more`)
  })
}

/** Brings the owner's labware, and waits for that of the others. */
async function bringTogether(thread: LabwareThread, action: ActionRun, key: string): Promise<void> {
  const isInput = action.inputs.includes(thread.labware.template)
  if (isInput) await goTo(thread, () => action.positionFor(thread))
  thread.become('AWAITING_CO_THREADS')
  if (isInput) action.arrive(thread)
  await thread.skippable(key, async () => {
    await gather(thread, action)
    await thread.safePoint('AWAITING_CO_THREADS')
    await reserveNext(thread, action)
  })
}

function missing({ inputs, arrived }: ActionRun): string[] {
  return inputs.filter((template) => !arrived.has(template))
}

/** Waits until all labware is there. */
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

/** Whether other labware is waited for. Where the owner's own was taken away, that has to come back first. */
function isWaitedFor(thread: LabwareThread, action: ActionRun): boolean {
  const absent = missing(action)
  return absent.length > 0 && !absent.includes(thread.labware.template)
}

/** Rejects with `no_reply` where the labware takes longer than the action allows; the time counts anew after a pause. */
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
      if (method.state.is_abandoned) over(() => reject(new ActionExit('method')))
      else environment.scheduler.awaits(thread_id, bearers())
      return !isWaitedFor(thread, action) || undefined
    })(() => over(resolve))
    return () => over(callOff)
  })
}

function timeoutOf({ action }: ActionPlan): number {
  return ('labware_timeout' in action && action.labware_timeout) || 0
}

/** The error names what keeps the threads that bring the labware. */
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

/** Waits until the devices can be reserved that the labware must have in time after the action. */
async function reserveNext(thread: LabwareThread, action: ActionRun): Promise<void> {
  const claim = devicesAfter(thread, action)
  if (!claim) return
  for (;;) {
    try {
      await request(thread, { ...claim, mayPark: false })
      return
    } catch (error) {
      if (!(error instanceof Interrupt) || error.kind !== 'pause') throw error
      await thread.safePoint('AWAITING_CO_THREADS')
    }
  }
}

/** Subtracts the used tips from the racks, and publishes that a rack is low or empty. */
function useTips(thread: LabwareThread, plan: ActionPlan, carriers: readonly Carrier[]): void {
  for (const carrier of carriers) {
    const { labware } = carrier
    const used = tipsUsed(plan, labware.template)
    const { tips_left } = labware
    if (used === 0 || tips_left === null) continue
    carrier.setLabware({ tips_left: Math.max(0, tips_left - used) })
    if (isSpent(labware)) thread.execution.emit('TIP_RACK', '', 'EMPTY', rackContext(thread, labware))
    else if (isLow(labware)) thread.execution.emit('TIP_RACK', '', 'LOW', rackContext(thread, labware))
  }
}

/** The thread that used the tips, and the rack. */
function rackContext(thread: Carrier, { labware_id, name, template, tips_left }: Labware) {
  const position = thread.environment.scheduler.whereIs(labware_id) ?? null
  return { ...thread.context(), labware_id, labware_name: name, labware_template_name: template, position, tips_left }
}
/**
 * Ends the action by what was thrown, and answers where the owner goes on. An error holds the thread until somebody decides. Throws what ends the
 * thread.
 */
async function leave(thread: LabwareThread, action: ActionRun, error: unknown): Promise<ActionExit['to']> {
  const { plan } = action
  if (error instanceof Interrupt && error.kind === 'skip') {
    action.end('SKIPPED', 'left')
    // The thread waits for a device no longer.
    thread.become('RESOLVING_ACTION_LOCATION')
    return 'action'
  }
  if (error instanceof Interrupt) {
    action.end('ABORTED', thread.last_error !== null && error.kind === 'abort' ? 'thread_aborted' : 'left')
    throw error
  }
  if (error instanceof ActionExit) return errored(action, error.to)
  if (error instanceof Fatal || plan.action.on_failure === 'ABORT') {
    action.end('ERRORED', 'left')
    throw error instanceof Fatal ? error : new Fatal(error)
  }
  if (!action.status.isTerminal) action.status.become('ERRORED')
  action.hold(messageOf(error))
  thread.execution.incident(categoryOf(error, 'ACTION_FAILED'), `${plan.name} of ${thread.name} failed: ${messageOf(error)}`, thread, {
    recovery_action: 'THREAD_RECOVER_RETRY',
    error,
    detail: otherDevices(plan, action.device),
  })
  try {
    const to = await thread.decisionAt('ACTION_BODY', error)
    if (to === 'done') thread.dealtWith(plan)
    thread.recovered()
    return errored(action, to)
  } catch (interrupt) {
    action.end('ABORTED', 'thread_aborted')
    throw interrupt
  }
}

function errored(action: ActionRun, to: ActionExit['to']): ActionExit['to'] {
  action.end('ERRORED', to === 'again' ? 'again' : 'left')
  return to
}
