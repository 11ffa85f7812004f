// Bringing all labware of an action to its device: that of its owner, and that of others.

import { LabError } from '../../../errors.ts'
import type { ActionPlan } from '../../plans/plan.ts'
import { once } from '../../scheduler/signal.ts'
import type { MethodRun } from '../method.ts'
import { goTo } from '../move/route.ts'
import { ActionExit } from '../recovery.ts'
import { timer } from '../run_environment.ts'
import type { LabwareThread } from '../thread.ts'
import type { ActionRun } from './action.ts'
import { caused } from './causes.ts'

/** Sends for the other labware once the device is held: any sooner, and the labware would crowd the ways to it. */
export function summon(thread: LabwareThread, action: ActionRun, { isRetry }: { isRetry: boolean }): undefined {
  const others = action.inputs.filter((template) => template !== thread.labware.template)
  if (!thread.method || others.length === 0) return
  const isSentFor = thread.execution.slots.deliver(thread.method, others, { isRetry })
  if (!isSentFor) throw new LabError('conflict', `${action.plan.name} needs ${others.join(' and ')}, and who brings it takes on no more`)
}

/** Brings the owner's labware. */
export async function transport(thread: LabwareThread, action: ActionRun): Promise<void> {
  const isInput = action.inputs.includes(thread.labware.template)
  if (isInput) await goTo(thread, () => action.positionFor(thread))
  thread.become('AWAITING_CO_THREADS')
  if (isInput) action.arrive(thread)
}

/** Waits until all labware is there. */
export function gather(thread: LabwareThread, action: ActionRun): Promise<void> | undefined {
  const { method } = thread
  return method && isWaitedFor(thread, action) ? gatherIn(thread, action, method) : undefined
}

async function gatherIn(thread: LabwareThread, action: ActionRun, method: MethodRun): Promise<void> {
  while (isWaitedFor(thread, action)) {
    await untilHere(thread, action, method)
    await thread.control.safePoint('AWAITING_CO_THREADS')
  }
}

/** The templates of the labware that is not there, or was taken away again. */
export function missing({ inputs, arrived }: ActionRun): string[] {
  return inputs.filter((template) => !arrived.has(template))
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
  return thread.control.wait<void>({ kind: 'peer', what, awaits: bearers }, (resolve, reject) => {
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
      else environment.scheduler.setAwaitedThreads(thread_id, bearers())
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

function doing({ control: { waiting }, status }: LabwareThread): string {
  return waiting ? `waits for ${waiting.what}` : `is ${status.current}`
}
