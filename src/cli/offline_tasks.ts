// The tasks of commands on a data folder without a service, by name, so that root can run them in a process of the folder's owner.

import { join } from 'node:path'
import type { Sources } from '../care/backup.ts'
import type { Backup, MadeBackup, Making } from '../care/backups.ts'
import type { FileChange, Opened, Parts } from '../care/restore.ts'
import type { stateTexts } from '../care/state_texts.ts'
import type { OperationJournal } from '../devices/operation_journal.ts'
import type { Verified as VerifiedLog } from '../events/log_verify.ts'
import type { CreatedKey, KeyRequest, Keys, PublicKey, Rotation } from '../keys/keys.ts'
import type { Verified } from '../kit/chained_lines.ts'
import { finishTransaction } from '../kit/file_transaction.ts'
import { whileNobodyServes } from '../kit/folder_lock.ts'
import type { Trouble } from '../kit/json_file.ts'
import { silent } from '../kit/log.ts'
import { date, tell } from './table.ts'

/** `file` is the descriptor of a file that the caller has opened. */
export type TaskFolder = { folder: string; file?: number | undefined }

/** Each task takes and returns values that JSON can hold. */
export const tasks = {
  'key list': (at: TaskFolder): Promise<PublicKey[]> => withKeys(at, async (keys) => keys.list()),

  'key create': (at: TaskFolder, wish: KeyRequest): Promise<CreatedKey> =>
    withKeys(
      at,
      async (keys) => {
        const [{ KeyRequest }, { checked }] = await Promise.all([import('../keys/keys.ts'), import('../kit/schema.ts')])
        return keys.create(checked(KeyRequest, wish, 'the key'))
      },
      `key create --name ${wish.name} --scope ${wish.scope}`,
    ),

  'key rotate': (at: TaskFolder, { key_id, ...wish }: { key_id: string } & Rotation): Promise<CreatedKey> =>
    withKeys(at, (keys) => keys.rotate(key_id, wish), `key rotate ${key_id}`),

  'key revoke': (at: TaskFolder, { key_id }: { key_id: string }): Promise<PublicKey> =>
    withKeys(at, (keys) => keys.revoke(key_id), `key revoke ${key_id}`),

  /** Verifies a file in the folder without changing it, also beside a service. */
  'audit verify': async ({ folder }: TaskFolder, { file, wanted }: { file: string; wanted: string | undefined }): Promise<Verified> => {
    const { verifyChain } = await import('../kit/chained_lines.ts')
    return verifyChain(join(folder, file), { wanted })
  },

  'events verify': async ({ folder }: TaskFolder): Promise<VerifiedLog> => {
    const { verifyLog } = await import('../events/log_verify.ts')
    return verifyLog(join(folder, 'events'))
  },

  'state text': async ({ folder }: TaskFolder, { text }: { text: keyof typeof stateTexts }): Promise<string> => {
    const { stateTexts } = await import('../care/state_texts.ts')
    return stateTexts[text](folder)
  },

  /** Lists the devices that were left on. */
  'left on': (at: TaskFolder): Promise<string[]> => withRuns(at, async (runs) => runs.on),

  'switched off': (at: TaskFolder, { devices }: { devices: string[] }): Promise<void> =>
    withRuns(at, async (runs) => {
      for (const device_id of devices) await runs.switchedOff(device_id)
    }),

  'backup make': ({ folder }: TaskFolder, { wanted, sources }: { wanted: Making; sources: BackupSources }): Promise<MadeBackup> =>
    alone(folder, async () => {
      const { files, left_out } = sources.configuration
      const configuration = { files: files.map(({ name, base64 }) => ({ name, content: Buffer.from(base64, 'base64') })), left_out }
      const made = await (await backupsIn(folder, { ...bare, ...sources, configuration })).make(wanted)
      await takeDown(folder, `backup ${made.name}`)
      return made
    }),

  'backup list': async ({ folder }: TaskFolder): Promise<Backup[]> => (await backupsIn(folder)).list(),

  /** Copies a backup into `file`. */
  'backup copy': async ({ folder, file }: TaskFolder, { name }: { name: string }): Promise<void> => {
    const { writeOpen } = await import('../kit/open_file.ts')
    const backups = await backupsIn(folder)
    await writeOpen(file as number, backups.read(await backups.get(name)))
  },

  'backup remove': async ({ folder }: TaskFolder, { name }: { name: string }): Promise<void> => (await backupsIn(folder)).remove(name),

  'restore plan': async ({ folder }: TaskFolder, { manifest, parts }: Restoring): Promise<FileChange[]> => {
    const { planOf } = await import('../care/restore.ts')
    return planOf({ manifest }, folder, parts)
  },

  /** Restores the archive in `file`. `at` is in Unix milliseconds. */
  restore: ({ folder, file }: TaskFolder, { manifest, parts, at }: Restoring & { at: number }): Promise<string | undefined> =>
    alone(folder, async () => {
      const [{ planOf, restore }, { Archive }] = await Promise.all([import('../care/restore.ts'), import('../kit/archive.ts')])
      const archive = new Archive('the backup', file as number)
      const aside = await restore({ archive, manifest }, folder, await planOf({ manifest }, folder, parts), new Date(at))
      await takeDown(folder, `restore of ${date(manifest.made_at)}`)
      return aside
    }),
}

export type Tasks = typeof tasks

/** The configuration is read by the caller, because the owner of the folder may lack the right. */
type BackupSources = Pick<Sources, 'version' | 'system_id'> & {
  configuration: { files: { name: string; base64: string }[]; left_out: string[] }
}
type Restoring = { manifest: Opened['manifest']; parts: Parts }

/** Waits for other such commands, completes an interrupted restore, and does the work. Rejects with `in_use` if a service runs. */
function alone<Result>(folder: string, work: () => Promise<Result>): Promise<Result> {
  return whileNobodyServes(folder, async () => {
    await finishTransaction(folder)
    return work()
  })
}

/** Does work on the keys. Simultaneous calls take turns, so that the chain of the audit trail does not fork. `deed` is the audit entry of a change. */
function withKeys<Result>({ folder }: TaskFolder, work: (keys: Keys) => Promise<Result>, deed?: string): Promise<Result> {
  return alone(folder, async () => {
    const { Keys } = await import('../keys/keys.ts')
    const keys = await Keys.open({ folder, report })
    try {
      const result = await work(keys)
      if (deed !== undefined) await takeDown(folder, deed)
      return result
    } finally {
      await keys.close()
    }
  })
}

async function withRuns<Result>({ folder }: TaskFolder, work: (runs: OperationJournal) => Promise<Result>): Promise<Result> {
  const { OperationJournal } = await import('../devices/operation_journal.ts')
  const runs = await OperationJournal.open(folder, report)
  try {
    return await work(runs)
  } finally {
    await runs.close()
  }
}

/** The sources of tasks that need only the folder. */
const bare = { config: undefined, topologies: undefined, version: '', system_id: '' }

async function backupsIn(folder: string, sources: Omit<Sources, 'data_dir'> = bare) {
  const { Backups } = await import('../care/backups.ts')
  return new Backups({ sources: { ...sources, data_dir: folder }, log: silent, report })
}

/** Adds an entry to the audit trail. */
async function takeDown(folder: string, deed: string): Promise<void> {
  const { Audit } = await import('../keys/audit.ts')
  const audit = new Audit({ folder, log: silent, report })
  audit.note({ what: `benchd ${deed}`, details: { text: `Ran benchd ${deed}` }, key_id: 'local', name: 'local', scope: 'admin' })
  await audit.close()
}

export function report({ message }: Trouble): void {
  tell(message)
}
