// The files that devices give with the results of operations.

import type { DeviceFile } from '../../../devices/device.ts'
import { LabError, messageOf } from '../../../errors.ts'
import { safeFileName } from '../../../kit/file_name.ts'
import { type BegunOperation, labwareIn } from '../record_rows.ts'
import type { ActionRun } from './action.ts'

/** Keeps a file with the run, about the labware of the action. A file that cannot be kept is an incident: the operation is done all the same. */
export async function attachFile(action: ActionRun, { operation, operation_id }: BegunOperation, file: DeviceFile): Promise<void> {
  const { owner, device: device_id, action_id, plan } = action
  const { execution } = owner
  try {
    const { name, media_type, note, bytes, pieces } = file
    const about = { by: null, name: safeFileName(name), media_type, note, from: 'operation' }
    const what = { device_id, operation, operation_id, action_id, action_name: plan.name, thread_id: owner.thread_id }
    const row = () => ({ at: execution.now(), ...about, ...what, ...labwareIn(owner) })
    await execution.record.attach(pieces, { bytes, row, isOver: () => execution.isOver })
  } catch (error) {
    // The service is stopping.
    if (error instanceof LabError && error.code === 'stopping') return
    const message = `the file ${JSON.stringify(file.name.slice(0, 80))} that ${device_id} gave with ${operation} is not kept: ${messageOf(error)}`
    execution.events.incident('STORAGE', message, owner, { severity: 'WARNING', error })
  }
}
