// Starts a plug-in in a process of its own without a bench, to see whether it can be loaded.

import { systemClock } from '../kit/clock.ts'
import { type PluginMessage, PluginProcess } from './process.ts'

/** `trouble` says why it cannot be started; null if it can. */
export type CheckedPlugin = { path: string; title: string | null; sinks: number; output: string[]; trouble: string | null }

const starting_ms = 30_000
const mostLines = 100

/** Loads the file, calls `start` with these settings, and stops it. Requests to the bench are refused. */
export function checkPlugin(path: string, settings: Readonly<Record<string, unknown>>, folder: string): Promise<CheckedPlugin> {
  return new Promise((resolve) => {
    const found: CheckedPlugin = { path, title: null, sinks: 0, output: [], trouble: null }
    const say = (line: string) => void (found.output.length < mostLines && found.output.push(line))
    const took = (message: PluginMessage) => {
      if (message.type === 'started') {
        found.title = message.name
        plugin.send({ type: 'stop' })
      } else if (message.type === 'refused' || message.type === 'crashed') found.trouble = message.message
      else if (message.type === 'sinks') found.sinks = Math.max(found.sinks, message.count)
      else if (message.type === 'call')
        plugin.send({ type: 'answer', id: message.id, status: 503, body: { detail: 'a check has no bench' } })
      else if (message.type === 'log' || message.type === 'warn') say(message.message)
      if (message.type === 'refused') plugin.kill(message.message)
    }
    const late = setTimeout(() => plugin.kill(`it did not start within ${starting_ms / 1000} s`), starting_ms)
    const plugin = new PluginProcess({
      memory_mib: 128,
      now: () => systemClock.now(),
      onMessage: took,
      onOutput: say,
      onEnd(how) {
        clearTimeout(late)
        resolve({ ...found, trouble: found.trouble ?? (found.title === null ? how : null) })
      },
    })
    plugin.send({ type: 'start', path, name: 'check', system_id: 'check', folder, settings })
  })
}
