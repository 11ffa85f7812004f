// `benchd events …`: live and past events, and the integrity of the event log.

import { Readable } from 'node:stream'
import { setTimeout as sleep } from 'node:timers/promises'
import { eventFramesIn } from '../clients/ts/benchd.ts'
import { operatorWords } from '../clients/ts/event_words.ts'
import { entityTypes } from '../events/entity_types.ts'
import type { RuntimeEvent } from '../events/event.ts'
import { didYouMeanAmong } from '../kit/did_you_mean.ts'
import { atShell, short } from './at_shell.ts'
import { ask, open, type Service, serviceOf, serviceOptions } from './client.ts'
import { command, type OptionValues } from './command.ts'
import { csvLine } from './csv.ts'
import { CliError } from './exit.ts'
import { localTime, momentOf } from './local_time.ts'
import { moment } from './moment.ts'
import { offline } from './offline.ts'
import { dataDir } from './places.ts'
import { shownRunIdOf } from './runs/ids.ts'
import { print } from './table.ts'
import { note } from './terminal.ts'

const filters = {
  execution: { type: 'string', value: 'ID', help: 'Show only the events of this run' },
  types: { type: 'string', value: 'T,…', help: `Show only these entity types, separated by commas: ${entityTypes.join(', ')}` },
} as const

const level = { all: { type: 'boolean', help: 'Print every event with its name and its members, states of the engine too' } } as const

const again_ms = 2000
const page = 1000

const eventsTail = command({
  name: 'events tail',
  summary: 'Print events as they happen, until Ctrl-C; after a lost connection, continue without a gap',
  options: { ...filters, ...level, ...serviceOptions },
  example: 'benchd events tail --types DEVICE,INCIDENT',
  async run({ options }) {
    const service = serviceOf(options)
    const wanted = wantedBy(options)
    const lineOf = linesFor(options)
    const execution_id = await runOf(service, options)
    if (execution_id !== undefined && !(await hasEvents(service, execution_id)))
      note(`the log has no event of a run ${short(execution_id)} yet; waiting for the first. To see the runs: benchd runs list`)
    let last: string | undefined
    for (let opened = false; ; ) {
      try {
        const headers: Record<string, string> = last === undefined ? {} : { 'Last-Event-ID': last }
        const body = await open(service, 'GET', `/events/stream${query({ execution_id })}`, { headers })
        opened = true
        for await (const frames of eventFramesIn(Readable.toWeb(body)))
          for (const { id = last, data, note: comment = '' } of frames) {
            last = id
            if (/^(gap|dropped|not stored)/.test(comment)) note(`the stream says: ${comment}`)
            if (!data) continue
            const event = JSON.parse(data) as RuntimeEvent
            const text = wanted(event) ? (options.json ? data : lineOf(event)) : undefined
            if (text !== undefined) print(text)
          }
      } catch (error) {
        // A starting service answers, but not with a stream yet.
        if (!opened || (error instanceof CliError && !['unreachable', 'failed'].includes(error.exit))) throw error
      }
      note('the stream ended; trying again')
      await sleep(again_ms)
    }
  },
})

const eventsSince = command({
  name: 'events since',
  summary:
    'Print the events since TIME: 90s, 10m, 2h or 1d ago, a day or a moment such as 2026-01-31T08:00 in the zone of this computer, or Unix seconds',
  operands: ['TIME'],
  options: { ...filters, ...level, ...serviceOptions },
  example: 'benchd events since 10m',
  async run({ options, operands: [time = ''] }) {
    const since = moment(time)
    if (momentOf(time) !== undefined) note(`events from ${localTime(since, 'seconds')} on`)
    const lineOf = linesFor(options)
    for await (const event of eventsFrom(serviceOf(options), since, options)) {
      const text = options.json ? JSON.stringify(event) : lineOf(event)
      if (text !== undefined) print(text)
    }
  },
})

const eventsExport = command({
  name: 'events export',
  summary: 'Export all events as lines of JSON or as comma-separated values',
  options: {
    ...filters,
    csv: { type: 'boolean', help: 'Print comma-separated values with a header, the time also as a date, the context as JSON' },
    ...serviceOptions,
  },
  example: 'benchd events export --execution 7b1c > run.jsonl',
  async run({ options }) {
    if (options.csv && options.json) throw new CliError('usage', 'benchd events export prints --csv or --json, not both')
    let isBegun = false
    const header = () => {
      if (options.csv && !isBegun) process.stdout.write(csvLine([...columns]))
      isBegun = true
    }
    for await (const event of eventsFrom(serviceOf(options), 0, options)) {
      header()
      if (options.csv) process.stdout.write(csvLine(columns.map((column) => cellOf(event, column))))
      else print(JSON.stringify(event))
    }
    header()
  },
})

const eventsVerify = command({
  name: 'events verify',
  summary: 'Check every line of the event log on this machine, and list damaged lines',
  options: { 'data-dir': serviceOptions['data-dir'] },
  async run({ options }) {
    const found = await offline(dataDir(options['data-dir']), 'events verify', undefined)
    if (options.json) print(JSON.stringify(found))
    else {
      for (const { file, offset, problem } of found.damaged) print(`${file} at byte ${offset}: ${problem}`)
      print(`${found.files} files, ${found.events} events, ${found.damaged.length} damaged lines`)
    }
    return found.damaged.length ? 1 : 0
  },
})

export const commands = [eventsTail, eventsSince, eventsExport, eventsVerify]

const columns = ['timestamp', 'time', 'event_name', 'execution_id', 'entity_type', 'entity_id', 'status', 'context'] as const

function cellOf(event: RuntimeEvent, column: (typeof columns)[number]): string {
  if (column === 'time') return isoOf(event)
  return column === 'context' ? JSON.stringify(event.context) : String(event[column])
}

/** Says if there are no events. Throws `not_found` for a run without events in the log. */
async function* eventsFrom(service: Service, since: number, options: OptionValues<typeof filters>): AsyncGenerator<RuntimeEvent> {
  const wanted = wantedBy(options)
  const execution_id = await runOf(service, options)
  let count = 0
  for (let from = since; ; ) {
    const { events, next_since } = await eventsAt(service, { since: String(from), execution_id, limit: String(page) })
    const those = events.filter(wanted)
    count += those.length
    yield* those
    if (events.length < page) break
    from = next_since
  }
  if (count > 0) return
  if (execution_id !== undefined && !(await hasEvents(service, execution_id)))
    throw new CliError('not_found', `the log has no event of a run ${short(execution_id)}; see: benchd runs list`)
  note('the log has no such event')
}

async function hasEvents(service: Service, execution_id: string): Promise<boolean> {
  return (await eventsAt(service, { execution_id, limit: '1' })).events.length > 0
}

type Page = { events: RuntimeEvent[]; next_since: number }

function eventsAt(service: Service, values: Record<string, string | undefined>): Promise<Page> {
  return ask<Page>(service, 'GET', `/events${query(values)}`)
}

/** Finds the run. A word that matches no run in the list is taken for a whole id, since the log may have events of deleted runs. */
async function runOf(service: Service, { execution }: OptionValues<typeof filters>): Promise<string | undefined> {
  if (execution === undefined) return undefined
  return shownRunIdOf(service, execution).catch((error) => {
    if (error instanceof CliError && error.exit === 'not_found') return execution
    throw error
  })
}

function wantedBy({ types }: OptionValues<typeof filters>): (event: RuntimeEvent) => boolean {
  if (types === undefined) return () => true
  const wanted = new Set(types.split(',').map((type) => type.trim().toUpperCase()))
  for (const type of wanted)
    if (!entityTypes.some((known) => known === type))
      note(`benchd itself fires no event of the type ${JSON.stringify(type)}, only a simulation may${didYouMeanAmong(type, entityTypes)}`)
  return ({ entity_type }) => wanted.has(entity_type)
}

function query(values: Record<string, string | undefined>): string {
  const given = Object.entries(values).filter((entry): entry is [string, string] => entry[1] !== undefined)
  return given.length ? `?${new URLSearchParams(given)}` : ''
}

function isoOf({ timestamp }: RuntimeEvent): string {
  return new Date(timestamp * 1000).toISOString()
}

/** Returns a function that words events in a line; undefined for a state of the engine, unless all events or its type were asked for. */
function linesFor({ all, types }: OptionValues<typeof filters & typeof level>): (event: RuntimeEvent) => string | undefined {
  const wordsOf = operatorWords()
  return (event) => {
    const { event_name, execution_id, context, timestamp } = event
    if (all) return `${localTime(timestamp, 'milliseconds')}  ${event_name}  ${execution_id}  ${JSON.stringify(context)}`
    const words = wordsOf(event) ?? (types === undefined ? undefined : `${event_name}  ${JSON.stringify(context)}`)
    return words && `${localTime(timestamp, 'seconds')}  ${short(execution_id)}  ${atShell(words)}`
  }
}
