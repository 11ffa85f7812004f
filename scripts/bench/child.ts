// Each measured program runs in a process of its own: it says that it is ready, answers questions, and ends with its parent.

import { fork } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

export type Child<Ready> = {
  ready: Ready
  /** One question at a time. Rejects when the child ends instead. */
  ask<Answer>(question: object): Promise<Answer>
  end(): Promise<void>
}

/** Resolves once the child is ready. `module` is beside this file; `flags` are Node's, beside those of this process, such as --cpu-prof. */
export async function startChild<Ready = object>(
  module: string,
  { args = [], flags = [] }: { args?: readonly string[]; flags?: readonly string[] } = {},
): Promise<Child<Ready>> {
  const child = fork(new URL(module, import.meta.url), args, { execArgv: [...process.execArgv, ...flags] })
  const answer = <Answer>() =>
    new Promise<Answer>((resolve, reject) => {
      const onExit = () => reject(new Error(`${module} ended early`))
      child.once('exit', onExit)
      child.once('message', (said) => {
        child.off('exit', onExit)
        resolve(said as Answer)
      })
    })
  return {
    ready: await answer(),
    ask(question) {
      child.send(question)
      return answer()
    },
    async end() {
      if (!child.connected) return
      const ended = once(child, 'exit')
      child.disconnect()
      await ended
    },
  }
}

/** The child's side of it. */
export function answerParent<Question>(ready: object, answer: (question: Question) => object | Promise<object>): void {
  process.on('message', async (question) => process.send?.(await answer(question as Question)))
  process.on('disconnect', () => process.exit())
  process.send?.(ready)
}

/** Makes a folder that is removed when this process ends. */
export function ownFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'benchd-bench-'))
  process.on('exit', () => rmSync(folder, { recursive: true, force: true }))
  return folder
}
