// Work on a data folder without a service: in this process, or for root in a process of the folder's owner.

import { statusOf } from '../kit/host_files.ts'
import type { Tasks } from './offline_tasks.ts'

type Input<Name extends keyof Tasks> = Parameters<Tasks[Name]>[1]
type Output<Name extends keyof Tasks> = Awaited<ReturnType<Tasks[Name]>>

/** Does a task. `file` is the descriptor of a file that it needs. Rejects as the task does, with `in_use` if a service runs. */
export async function offline<Name extends keyof Tasks>(
  folder: string,
  name: Name,
  input: Input<Name>,
  file?: number,
): Promise<Output<Name>> {
  const owner = process.geteuid?.() === 0 ? await statusOf(folder) : undefined
  if (owner !== undefined && owner.uid !== 0) {
    const { asOwner } = await import('./as_owner.ts')
    return (await asOwner(owner, { folder, name, input }, file)) as Output<Name>
  }
  const { tasks } = await import('./offline_tasks.ts')
  const task = tasks[name] as (place: { folder: string; file?: number | undefined }, input: Input<Name>) => Promise<Output<Name>>
  return task({ folder, file }, input)
}
