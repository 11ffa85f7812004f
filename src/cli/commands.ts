// The table of commands, from which parsing, help, completion and the man page are made. Each file is loaded when its first word is used.

import type { Command, Section } from './command.ts'

type Load = () => Promise<{ commands: readonly Command[] }>

/** The files of commands by their first word, under the headings of the help. */
const sections = {
  'Run a bench': {
    init: () => import('./init.ts'),
    serve: () => import('./serve.ts'),
    demo: () => import('./serve.ts'),
    status: () => import('./status.ts'),
    top: () => import('./top.ts'),
    discover: () => import('./discover.ts'),
  },
  Devices: {
    devices: () => import('./devices/devices.ts'),
    stop: () => import('./devices/stop.ts'),
    jog: () => import('./devices/hold.ts'),
    'go-to': () => import('./devices/hold.ts'),
    'free-drive': () => import('./devices/hold.ts'),
    teachpoints: () => import('./teachpoints/teachpoints.ts'),
  },
  'Runs and labware': {
    runs: () => import('./runs/runs.ts'),
    queue: () => import('./queue.ts'),
    labware: () => import('./labware.ts'),
    inventory: () => import('./inventory.ts'),
    topology: () => import('./topology.ts'),
    workflows: () => import('./workflows.ts'),
  },
  Events: { events: () => import('./events.ts'), incidents: () => import('./incidents.ts') },
  'Many benches': { lab: () => import('./lab.ts') },
  Access: { key: () => import('./key.ts'), whoami: () => import('./key.ts'), audit: () => import('./audit.ts') },
  Instruments: {
    ports: () => import('./ports.ts'),
    sim: () => import('./sim.ts'),
    replay: () => import('./replay.ts'),
    bridge: () => import('./bridge.ts'),
    plugins: () => import('./plugins.ts'),
    mcp: () => import('./mcp.ts'),
    drivers: () => import('./drivers.ts'),
    'safe-off': () => import('./safe_off.ts'),
  },
  Care: {
    backup: () => import('./backup.ts'),
    restore: () => import('./restore.ts'),
    bundle: () => import('./bundle.ts'),
    logs: () => import('./logs.ts'),
    notify: () => import('./notify.ts'),
    update: () => import('./update.ts'),
    doctor: () => import('./doctor.ts'),
    config: () => import('./config.ts'),
    completion: () => import('./completion/completion.ts'),
    man: () => import('./man.ts'),
    version: () => import('./version.ts'),
  },
} satisfies Record<string, Record<string, Load>>

/** Commands for benchd itself and its units. */
const hidden: Record<string, Load> = { 'as-owner': () => import('./as_owner.ts'), 'run-bridge': () => import('./run_bridge.ts') }

const shown: ReadonlyMap<string, Load> = new Map(Object.values(sections).flatMap((words) => Object.entries(words)))
const loads: ReadonlyMap<string, Load> = new Map([...shown, ...Object.entries(hidden)])

/** Every first word. */
export const words: readonly string[] = [...shown.keys()]

/** Loads the commands with this first word; none for an unknown one. */
export async function commandsOf(word: string): Promise<Command[]> {
  const { commands } = (await loads.get(word)?.()) ?? { commands: [] }
  return commands.filter(({ name }) => name.split(' ')[0] === word)
}

/** Loads all commands, in the order of the table. */
export function table(): Promise<Section[]> {
  return Promise.all(
    Object.entries(sections).map(async ([heading, words]) => ({
      heading,
      commands: (await Promise.all(Object.keys(words).map(commandsOf))).flat(),
    })),
  )
}
