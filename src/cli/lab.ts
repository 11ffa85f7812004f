// `benchd lab …`: many benches and the broker that connects them.

import { hostname } from 'node:os'
import { join, resolve } from 'node:path'
import { commands as coordinator } from '../coordinator/commands.ts'
import type { FleetStatus } from '../fleet/fleet.ts'
import type { BenchPresence } from '../fleet/presence.ts'
import { exists } from '../kit/folder.ts'
import { clock } from '../kit/seconds.ts'
import { shows } from './asking.ts'
import { ask, serviceOf, serviceOptions } from './client.ts'
import { command } from './command.ts'
import { CliError } from './exit.ts'
import { localTime } from './local_time.ts'
import { portOf } from './numbers.ts'
import { systemFolder } from './places.ts'
import { print, table } from './table.ts'
import { colored, mustBeSure, note, yesOption } from './terminal.ts'

type Lab = { link: FleetStatus | null; benches: BenchPresence[] }

const labStatus = shows({
  name: 'lab status',
  summary: 'Show the benches of the lab, and how this bench is connected',
  path: () => '/api/lab',
  text: ({ link, benches }: Lab) =>
    link ? [linkLine(link), benchTable(benches)].join('\n') : 'this bench belongs to no lab: its configuration has no "fleet"',
})

function linkLine({ lab, name, state, failure, waiting, lag_s }: FleetStatus): string {
  const behind = waiting ? `${waiting} events wait, the oldest for ${clock(lag_s)}` : undefined
  if (state !== 'connected' || failure)
    return [`${name} in the lab ${lab}: ${colored('yellow', failure ?? state)}`, ...(behind ? [behind] : [])].join('\n')
  return `${name} in the lab ${lab}: connected, ${behind ?? 'all events are sent'}`
}

const stateColors = { here: 'green', silent: 'red', unknown: 'yellow' } as const

function benchTable(benches: readonly BenchPresence[]): string {
  return table(
    ['BENCH', 'STATE', 'HEARD', 'HEALTH', 'DEVICES', 'INCIDENTS', 'HAND-OVER', 'VERSION', 'PAGE'],
    benches.map(({ name, state, heard_s, health, devices, incidents, positions, version, url }) => [
      name,
      colored(stateColors[state], state),
      heard_s === null ? '-' : `${clock(heard_s)} ago`,
      health,
      Object.entries(devices)
        .map(([state, count]) => `${count} ${state}`)
        .join(', ') || '-',
      String(incidents),
      positions.join(', ') || '-',
      version,
      url,
    ]),
  )
}

const labNewEpoch = command({
  name: 'lab new-epoch',
  summary: 'Continue under the name of this bench although another computer has sent events under it',
  options: { ...yesOption, ...serviceOptions },
  async run({ options }) {
    await mustBeSure(options, 'let this bench go on under its name; the other box with that name then sends nothing more')
    const answer = await ask<{ link: FleetStatus }>(serviceOf(options), 'POST', '/api/lab/epoch')
    print(options.json ? JSON.stringify(answer) : `${answer.link.name} goes on in the new epoch ${answer.link.epoch}`)
  },
})

const usualFolder = join(systemFolder, 'lab')
const folderOf = (named: string | undefined) => resolve(named ?? usualFolder)

const labInit = command({
  name: 'lab init',
  summary: `Write the configuration of the lab's broker and a key for each bench into DIR, default ${usualFolder}, or add benches to a lab`,
  operands: ['[DIR]'],
  options: {
    name: { type: 'string', value: 'LAB', help: 'Name of a new lab' },
    bench: { type: 'string', value: 'NAME', multiple: true, help: 'Bench of the lab; repeatable' },
    host: { type: 'string', value: 'HOST', help: 'Name or address at which benches reach the broker; default: the name of this computer' },
    port: { type: 'string', value: 'PORT', help: 'Port of the broker; default 4222' },
    store: { type: 'string', value: 'DIR', help: 'Folder in which the broker keeps the events; default /var/lib/nats' },
  },
  example: 'benchd lab init --name floor-2 --bench lab-pi-1 --bench lab-pi-2 --host broker.lab',
  async run({ options, operands: [named] }) {
    const { makeCertificate, makeLab } = await import('../fleet/lab_folder.ts')
    const folder = folderOf(named)
    const isNew = !exists(join(folder, 'lab.json'))
    if (isNew && options.name === undefined) throw new CliError('usage', `${folder} has no lab yet; name it with --name`)
    if (!isNew && (options.name ?? options.host ?? options.port ?? options.store) !== undefined)
      throw new CliError(
        'busy',
        `${folder} has a lab already: benches can be added to it with --bench; all else is written in ${folder}/lab.json`,
      )
    const port = portOf(options.port ?? '4222', 1)
    const { name = '', host = `${hostname()}.local`, store = '/var/lib/nats' } = options
    const { lab, added } = await makeLab(folder, options.bench ?? [], isNew ? { name, host, port, store } : undefined)
    await makeCertificate(folder, lab.host)
    print(
      options.json ? JSON.stringify({ success: true, folder, lab: lab.name, added }) : nextSteps(folder, lab, { isNew, added }).join('\n'),
    )
  },
})

function nextSteps(
  folder: string,
  { host, store }: { host: string; store: string },
  { isNew, added }: { isNew: boolean; added: readonly string[] },
): string[] {
  const broker = [
    `On ${host}, the computer of the broker:`,
    '  sudo apt install nats-server',
    // The folders of a lab are closed, and its server runs as a user of its own.
    `  sudo chmod o+x ${folder} ${folder}/tls && sudo chown nats ${folder}/tls/key.pem && sudo install -d -m 0700 -o nats ${store}`,
    `  sudo cp ${folder}/nats.conf /etc/nats-server.conf && sudo systemctl restart nats-server`,
    `  sudo benchd lab setup ${folder}`,
  ]
  const again = [
    `On ${host}, the computer of the broker:`,
    `  sudo cp ${folder}/nats.conf /etc/nats-server.conf && sudo systemctl reload nats-server`,
  ]
  const benches = added.flatMap((name) => [
    `On ${name}, with ${name}.seed of ${folder}/keys and cert.pem of ${folder}/tls:`,
    '  sudo install -d -m 0750 -g benchd /etc/benchd/fleet',
    `  sudo install -m 0640 -g benchd ${name}.seed cert.pem /etc/benchd/fleet`,
    `  put the member "fleet" of ${folder}/benches/${name}.json into /etc/benchd/config.json, then: sudo systemctl restart benchd`,
  ])
  return [isNew ? `made a lab in ${folder}` : `added ${added.length} benches to ${folder}`, ...(isNew ? broker : again), ...benches]
}

const labSetup = command({
  name: 'lab setup',
  summary: 'Create the stream and the buckets of the lab at its broker; keep those that exist, and say what is set otherwise',
  operands: ['[DIR]'],
  async run({ options, operands: [named] }) {
    const [{ setUp }, { placeIn, readLab }] = await Promise.all([import('../fleet/setup.ts'), import('../fleet/lab_folder.ts')])
    const folder = folderOf(named)
    const lab = await readLab(folder)
    const kept = await setUp(placeIn(folder, lab, 'admin'))
    print(
      options.json
        ? JSON.stringify({ success: true, lab: lab.name, kept })
        : [...kept, `the broker of ${lab.name} is ready for events`].join('\n'),
    )
  },
})

const labEvents = command({
  name: 'lab events',
  summary: 'Print the events of all benches of the lab, each once, in the order of its bench',
  operands: ['[DIR]'],
  options: {
    follow: { type: 'boolean', short: 'f', help: 'Continue with new events until Ctrl-C, also after a lost connection to the broker' },
    out: { type: 'string', value: 'FILE', help: 'Append the events to a file as lines of JSON; the next call continues at its end' },
    server: {
      type: 'string',
      value: 'URL',
      help: 'Address of a broker that was set up without lab init, nats://HOST:PORT, in place of DIR',
    },
  },
  example: 'benchd lab events --follow --out floor-2.jsonl',
  async run({ options, operands: [named] }) {
    const [{ linesOfLab, Union }, { placeIn, readLab }, { LineOutput }] = await Promise.all([
      import('../fleet/union.ts'),
      import('../fleet/lab_folder.ts'),
      import('../kit/line_output.ts'),
    ])
    const folder = folderOf(named)
    const place = options.server ? { servers: [options.server], name: 'reader' } : placeIn(folder, await readLab(folder), 'reader')
    const union = new Union()
    const output = options.out === undefined ? undefined : await LineOutput.open(resolve(options.out), (line) => union.resume(line))
    let said = ''
    const say = (sentence: string) => {
      if (sentence !== said) note(sentence)
      said = sentence
    }
    for await (const lines of linesOfLab(place, { union, follow: options.follow ?? false, say })) {
      said = ''
      if (output) await output.append(lines)
      else print(options.json ? lines.join('\n') : lines.map(readable).join('\n'))
    }
    await output?.close()
  },
})

type UnionLine = { bench: string; seq: number; event?: { event_name: string; timestamp: number; context: object }; too_large?: number }

function readable(text: string): string {
  const { bench, seq, event, too_large } = JSON.parse(text) as UnionLine
  if (!event) return `${bench}  event ${seq} is too large for the broker (${too_large} bytes)`
  return `${localTime(event.timestamp, 'milliseconds')}  ${bench}  ${event.event_name}  ${JSON.stringify(event.context)}`
}

const labDemo = command({
  name: 'lab demo',
  summary:
    'Run a simulated lab of two benches, a broker and the coordinator on this computer; nats-server and postgresql must be installed',
  options: {
    port: {
      type: 'string',
      value: 'N',
      help: 'Port of the first bench, followed by the second and the coordinator; default 8520, 0 for any free ports',
    },
  },
  no_json: 'its output is for people; ask a bench with benchd lab status --json',
  async run({ options }) {
    const port = portOf(options.port ?? '8520', 0, 65_533)
    const { labDemo } = await import('../coordinator/lab_demo.ts')
    return labDemo(port)
  },
})

export const commands = [labStatus, labEvents, labInit, labSetup, labNewEpoch, ...coordinator, labDemo]
