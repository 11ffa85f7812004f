// The custom events that a method emits when it begins and ends: a list in the workflow, or code.

import { LabError } from '../../errors.ts'
import type { Emission } from '../plans/action_schema.ts'
import type { MethodDoing } from '../plans/author.ts'
import { mustBeRecord, mustBeText, onceAwaited, variablesOf } from './action/body_context.ts'
import { scopeOf } from './channels.ts'
import type { MethodRun } from './method.ts'
import { modeForCode } from './run_environment.ts'
import type { LabwareThread } from './thread.ts'

/** Emits the events of the method. An error in its code holds the thread until somebody decides; RETRY runs the code again. */
export async function emitOf(owner: LabwareThread, method: MethodRun, when: 'on_start' | 'on_end'): Promise<void> {
  const emissions = method.plan.emits[when]
  if (!emissions) return
  if (typeof emissions !== 'function') {
    for (const emission of emissions) publish(owner, emission)
    return
  }
  if (owner.environment.trial === 'forecast') return
  await owner.insist('THREAD_STEP', async () => {
    // Virtual time stands still while the code runs.
    const release = owner.environment.steps.hold()
    try {
      await emissions(doingOf(owner, method))
    } finally {
      release()
    }
  })
}

/** Emits an event of a method. The event always names the thread that owns the method. */
function publish(owner: LabwareThread, { emit, value, data, across_groups }: Emission): void {
  owner.execution.events.emitCustom(emit, { value, data }, owner.thread_id, scopeOf(owner.origin, across_groups))
}

function doingOf(owner: LabwareThread, method: MethodRun): MethodDoing {
  const { execution, thread_id, environment } = owner
  const { signal } = owner.control
  return {
    execution_id: execution.execution_id,
    thread_id,
    mode: modeForCode(environment),
    method_id: method.method_id,
    signal,
    variable: variablesOf(owner),
    emit: (emit, value = null, data = {}, { across_groups = false } = {}) =>
      onceAwaited(() => {
        if (signal.aborted) throw new LabError('stopped', `${owner.name} was ended`)
        publish(owner, { emit, value: mustBeText(value), data: mustBeRecord(data), across_groups })
      }),
  }
}
