// Brings all labware of an action to its device: the owner's, and that of other threads.

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

/** Sends for the other labware after the device is reserved: earlier, the labware would block the routes to the device. */
export function summon(thread: LabwareThread, action: ActionRun, { isRetry }: { isRetry: boolean }): undefined {
  const others = action.inputs.filter((template) => template !== thread.labware.template)
  if (!thread.method || others.length === 0) return
  const isSentFor = thread.execution.backlogs.deliver(thread.method, others, { isRetry })
  if (!isSentFor)
    throw new LabError(
      'conflict',
      `${action.plan.name} needs ${others.join(' and ')}, and the thread that brings it takes on no more methods`,
    )
}

/** Brings the owner's labware. */
export async function transport(thread: LabwareThread, action: ActionRun): Promise<void> {
  const isInput = action.inputs.includes(thread.labware.template)
  if (isInput) await goTo(thread, () => action.positionFor(thread))
  thread.become('AWAITING_CO_THREADS')
  if (isInput) action.arrive(thread)
}

/** Waits until all labware is at the device. */
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

/** Returns the templates of the labware that is not at the device, or was taken away again. */
export function missing({ inputs, arrived }: ActionRun): string[] {
  return inputs.filter((template) => !arrived.has(template))
}

/** Whether the owner waits for other labware. If the owner's own labware was taken away, that must come back first. */
function isWaitedFor(thread: LabwareThread, action: ActionRun): boolean {
  const absent = missing(action)
  return absent.length > 0 && !absent.includes(thread.labware.template)
}

/** Rejects with `no_reply` if the labware takes longer than the action allows. A pause restarts the time. */
function untilHere(thread: LabwareThread, action: ActionRun, method: MethodRun): Promise<void> {
  const { execution, environment, thread_id } = thread
  const bearers = () => execution.backlogs.bearers(method, missing(action))
  const what = `${missing(action).join(' and ')} to come to ${action.device}`
  return thread.control.wait<void>({ kind: 'peer', what, awaits: bearers }, (resolve, reject) => {
    const cancelTimeout = timer(environment.clock, timeoutOf(action.plan), () => {
      callOff()
      reject(tooLate(thread, action, execution.backlogs.bearers(method, missing(action))))
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

/** Returns the error about labware that did not come. It says what the threads that bring it are waiting for. */
function tooLate({ execution }: LabwareThread, action: ActionRun, bearers: readonly string[]): unknown {
  const { plan, device } = action
  const absent = missing(action).join(' and ')
  const names = bearers.flatMap((id) => execution.find(id) ?? []).map((thread) => `${thread.name} ${doing(thread)}`)
  const why = names.length > 0 ? names.join('; ') : 'no thread brings it'
  return caused(
    'CO_LABWARE_TIMEOUT',
    new LabError('no_reply', `${absent} did not come to ${device} within ${timeoutOf(plan)} s for ${plan.name}: ${why}`),
  )
}

function doing({ control: { waiting }, status }: LabwareThread): string {
  return waiting ? `waits for ${waiting.what}` : `is ${status.current}`
}
