// Has the driver of a device perform an operation, by its own method or, for a program that describes itself, by name.

import type { Attach, Destination, Device, Progress } from './device.ts'
import type { OperationRun } from './operation_run.ts'
import { type Performable, rowOf } from './operations.ts'

type Driving = { destination: Partial<Destination>; attach?: Attach | undefined }

/** Resolves when the operation is done, and notes its message and its values. `destination` is the way of an operation that goes to a teachpoint. */
export async function drive(device: Device, run: OperationRun, { destination, attach }: Driving): Promise<void> {
  const { name, signal, limit_s } = run
  const { operation_id } = run.record
  const params = { ...run.record.params, ...destination }
  if (!device.described?.operations.has(name)) {
    const operate = device[name as Performable] as (params: object, signal: AbortSignal) => Promise<unknown>
    const ended = await operate(params, signal)
    if (rowOf(name)?.returns) run.data = ended
    else run.done = ended as string | undefined
    return
  }
  const progressed = (progress: Progress) => {
    run.progress = progress
  }
  const asked = { operation: name, params, operation_id, deadline_s: limit_s, progressed, attach }
  const { message, data } = await device.described.perform(asked, signal)
  run.done = message
  run.data = data
}
