// Changes the configuration file: checks it before it is written, one change at a time, and has the service reload it.

import type { Config } from '../config.ts'
import { LabError, messageOf } from '../errors.ts'
import { parseJsonWithComments } from '../kit/json.ts'
import { withValue } from '../kit/json_edit.ts'
import { replaceFile } from '../kit/replace_file.ts'
import { ask } from './client.ts'
import { tellNoService } from './elsewhere.ts'
import { CliError } from './exit.ts'
import type { LocalService } from './local_service.ts'
import { howToRestart, isOf, type Reload, reload, todo } from './reload.ts'

const mostTimes = 10

/** Repeats the work if the file was changed between reading and writing it. */
export function again<Input>(work: (asked: Input) => Promise<number>): (asked: Input) => Promise<number> {
  return async (asked) => {
    for (let times = 1; ; times++) {
      try {
        return await work(asked)
      } catch (error) {
        if (!(error instanceof LabError && error.code === 'conflict') || times === mostTimes) throw error
      }
    }
  }
}

/** Parses the text. Throws `config` if it must not be written. */
export async function checked(text: string, path: string): Promise<Config> {
  const { parseConfig } = await import('../config.ts')
  try {
    return await parseConfig(text, path)
  } catch (error) {
    throw error instanceof LabError ? new LabError(error.code, `nothing was changed: ${error.message}`, { cause: error }) : error
  }
}

/** Returns a value typed at a shell: JSON, else the text itself. */
export function literal(value: string): unknown {
  try {
    return JSON.parse(value)
  } catch {
    return value
  }
}

/** Returns the text with the value at the path, and makes missing objects on the way. Throws a usage error. */
export function withDeep(text: string, path: readonly (string | number)[], value: unknown): string {
  if (path.some((step) => step === '' || step === '__proto__'))
    throw new CliError('usage', `${path.join('.')} is no place in the configuration; see: benchd config show --effective`)
  let [there, depth]: [unknown, number] = [parseJsonWithComments(text, 'the configuration'), 0]
  for (; depth < path.length - 1; depth++) {
    const next = (there as Record<string | number, unknown>)[path[depth]!]
    if (typeof next !== 'object' || next === null) break
    there = next
  }
  const rest = path.slice(depth + 1)
  return withValue(
    text,
    path.slice(0, depth + 1),
    rest.reduceRight<unknown>((inner, step) => ({ [step]: inner }), value),
  )
}

type Writing = { path: string; text: string; before: string; service: LocalService }

/** Replaces the file with the text `before`, keeps an old copy, and has the service reload it. Says first if no service runs. */
export async function written({ path, text, before, service }: Writing): Promise<Reloaded & { old_copy: string | null }> {
  if (service.is === 'absent')
    await tellNoService({ folder: service.folder, isNamed: true, what: `${path} is written for the next service that uses it` })
  const old_copy = await replaceFile(path, text, { before })
  return { old_copy, ...(await reloaded(service, path)) }
}

/** `reload_refused`: the service keeps its old configuration, for example because a device is in use. */
type Reloaded = { words: string; restart_needed: boolean; reload_refused: boolean }

/** Has the service reload the file, and words the outcome. */
async function reloaded(service: LocalService, path: string): Promise<Reloaded> {
  const nothingToDo = { restart_needed: false, reload_refused: false }
  if (service.is === 'absent')
    return { words: `no service runs on the data folder ${service.folder}: the file is read when one starts`, ...nothingToDo }
  if (service.is === 'closed')
    return { words: `the service could not be reached (${service.why}); ${howToRestart()}`, restart_needed: true, reload_refused: false }
  try {
    const answer = await reload(service.service)
    if (!(await isOf(answer, path))) {
      const its = answer.config_file === null ? 'no configuration file' : `another configuration, ${answer.config_file}`
      return { words: `the service that runs has ${its}: this one is not for it`, ...nothingToDo }
    }
    const rest = todo(answer)
    return {
      words: [`reload: ${answer.message}`, ...(rest ? [rest] : [])].join('\n'),
      restart_needed: rest !== undefined,
      reload_refused: false,
    }
  } catch (error) {
    return refused(service, error)
  }
}

/** Words a refusal. A later reload is enough, unless the file also has changes that need a restart. */
async function refused({ service }: Extract<LocalService, { is: 'answering' }>, error: unknown): Promise<Reloaded> {
  const again = `reload: ${messageOf(error)}; to try again: benchd config reload`
  if (error instanceof CliError && error.exit === 'unreachable')
    return { words: `${again}; or ${howToRestart()}`, restart_needed: true, reload_refused: false }
  const changes = await ask<Pick<Reload, 'needs_restart'>>(service, 'GET', '/api/system/changes').catch(() => ({
    needs_restart: [] as string[],
  }))
  const rest = todo(changes)
  return { words: [again, ...(rest ? [rest] : [])].join('\n'), restart_needed: rest !== undefined, reload_refused: true }
}
