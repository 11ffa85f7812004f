// The table of commands: parsing, help, completion and the man page all come from it. A file is loaded when its word is called for.

import type { Command } from './command.ts'

type Load = () => Promise<{ commands: readonly Command[] }>

/** By the first word of their commands, under the headings of the help. */
export const sections = {
  'Run a bench': { serve: () => import('./serve.ts'), demo: () => import('./serve.ts') },
  'Runs and labware': {
    runs: () => import('./runs.ts'),
    labware: () => import('./labware.ts'),
    topology: () => import('./topology.ts'),
    workflows: () => import('./workflows.ts'),
  },
  Events: { events: () => import('./events.ts') },
  Access: { key: () => import('./key.ts'), whoami: () => import('./key.ts'), audit: () => import('./audit.ts') },
  Instruments: {
    ports: () => import('./ports.ts'),
    sim: () => import('./sim.ts'),
    replay: () => import('./replay.ts'),
    'safe-off': () => import('./safe_off.ts'),
  },
  Care: { config: () => import('./config.ts'), version: () => import('./version.ts') },
} satisfies Record<string, Record<string, Load>>

const loads: ReadonlyMap<string, Load> = new Map(Object.values(sections).flatMap((words) => Object.entries(words)))

/** Every first word. */
export const words: readonly string[] = [...loads.keys()]

/** The commands whose first word this is; none for an unknown one. */
export async function commandsOf(word: string): Promise<Command[]> {
  const { commands } = (await loads.get(word)?.()) ?? { commands: [] }
  return commands.filter(({ name }) => name.split(' ')[0] === word)
}

/** All, in the order of the table. */
export async function allCommands(): Promise<Command[]> {
  return (await Promise.all(words.map(commandsOf))).flat()
}
