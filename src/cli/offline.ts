// Work on a data folder that no service has: as its owner, under its lock, and taken down as what a person did here.

import { asOwnerOf } from '../kit/folder.ts'
import { whileNobodyServes } from '../kit/folder_lock.ts'
import type { Trouble } from '../kit/json_file.ts'
import { finishSwap } from '../kit/swap.ts'
import { forTerminal } from './table.ts'

export function report({ message }: Trouble): void {
  process.stderr.write(`benchd: ${forTerminal(message)}\n`)
}

/** Waits for another such command, and ends a restore that was interrupted; rejects with `in_use` where a service runs. */
export function offline<Result>(folder: string, work: () => Promise<Result>): Promise<Result> {
  const whole = async () => {
    await finishSwap(folder)
    return work()
  }
  return asOwnerOf(folder, () => whileNobodyServes(folder, whole))
}

/** Within `offline`: one line more in the record of who did what. */
export async function takeDown(folder: string, deed: string): Promise<void> {
  const [{ Audit }, { silent }] = await Promise.all([import('../keys/audit.ts'), import('../kit/log.ts')])
  const audit = new Audit({ folder, log: silent, report })
  audit.note({ what: `benchd ${deed}`, key_id: 'local', name: 'local', scope: 'admin' })
  await audit.close()
}
