// Does root's task on another user's data folder in a process of that user, so that its files are accessible to the
// service, and no link in the folder is followed with root's rights. It is a separate process, because Node refuses `seteuid` and its like
// when it may use io_uring, as on Debian 13 (CVE-2024-22017).
//
// The owner of the folder may inspect and change the process. So the process gets nothing from root but the one file that the task needs: no
// terminal, no environment, no groups. The answer of the process is trusted no more than the content of the folder.

import { fork } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { type ErrorCode, LabError, messageOf } from '../errors.ts'
import { command } from './command.ts'
import { CliError } from './exit.ts'
import { type TaskFolder, tasks } from './offline_tasks.ts'
import { forTerminal } from './table.ts'

type Job = { folder: string; name: keyof typeof tasks; input: unknown }
type Failure = { message: string; code?: ErrorCode | undefined; errno?: string | undefined }
type Outcome = { result?: unknown } | { failure: Failure }

/** The file descriptor of the file, after stdin, stdout, stderr and the channel. */
const fileThere = 4

/** Rejects as the task does, and if the process cannot be started or crashes. */
export async function asOwner({ uid, gid }: { uid: number; gid: number }, job: Job, file?: number): Promise<unknown> {
  const program = process.argv[1] ?? ''
  let outcome: Outcome | undefined
  let end: unknown[]
  try {
    const child = fork(program, [word], {
      uid,
      gid,
      cwd: '/',
      env: {},
      // A session of its own has no terminal to write to. When this process ends, the channel closes, and the child ends too.
      detached: true,
      stdio: ['ignore', 'ignore', 'pipe', 'ipc', ...(file === undefined ? [] : [file])],
    })
    const closed = once(child, 'close')
    child.once('message', (message: Outcome) => {
      outcome = message
    })
    createInterface({ input: child.stderr! }).on('line', (line) => process.stderr.write(`${forTerminal(line)}\n`))
    // A failed send shows in the end of the process.
    child.send({ ...job, file: file === undefined ? undefined : fileThere }, () => undefined)
    end = await closed
  } catch (error) {
    throw broken(job, uid, `cannot be begun: ${messageOf(error)}`, error)
  }
  if (outcome === undefined) throw broken(job, uid, `broke off (${end[1] ?? end[0]})`)
  if ('failure' in outcome) throw errorOf(outcome.failure)
  return outcome.result
}

function broken({ folder }: Job, uid: number, what: string, cause?: unknown): LabError {
  const sentence = `the process that works on ${folder} as its owner, the user ${uid}, ${what}; may that user run ${process.execPath} and read ${process.argv[1]}?`
  return new LabError('internal', sentence, { cause })
}

const word = 'as-owner'

export const commands = [
  command({
    name: word,
    summary: 'What root has another user do: called by benchd itself',
    async run() {
      if (!process.send) throw new CliError('usage', `benchd ${word} is called by benchd itself`)
      const breakOff = () => process.exit(1)
      process.once('disconnect', breakOff)
      const [job] = (await once(process, 'message')) as [Job & TaskFolder]
      const outcome = await outcomeOf(job)
      process.off('disconnect', breakOff)
      process.send(outcome, () => process.disconnect?.())
    },
  }),
]

async function outcomeOf({ folder, file, name, input }: Job & TaskFolder): Promise<Outcome> {
  try {
    const task = tasks[name] as (place: TaskFolder, input: unknown) => Promise<unknown>
    return { result: await task({ folder, file }, input) }
  } catch (error) {
    const isOurs = error instanceof LabError
    return { failure: { message: messageOf(error), code: isOurs ? error.code : undefined, errno: errnoIn(isOurs ? error.cause : error) } }
  }
}

function errnoIn(error: unknown): string | undefined {
  return error instanceof Error && 'code' in error ? String(error.code) : undefined
}

/** Restores the error with the members that determine the exit code and the advice. */
function errorOf({ message, code, errno }: Failure): Error {
  const cause = Object.assign(new Error(message), errno !== undefined && { code: errno })
  return code === undefined ? cause : new LabError(code, message, { cause })
}
