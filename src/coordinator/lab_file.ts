// The lab file: which benches there are, who carries labware between them, and the journeys over them. Its mistakes are reported with their place
// in the file, as far as the file alone shows them; `check.ts` asks the benches for the rest.

import { dirname, isAbsolute, join } from 'node:path'
import * as v from 'valibot'
import { FleetConfig } from '../config/fleet.ts'
import { LabError, messageOf } from '../errors.ts'
import { described, Whole } from '../kit/described.ts'
import { didYouMean, nearest } from '../kit/did_you_mean.ts'
import { readText } from '../kit/files.ts'
import { parseJsonWithComments } from '../kit/json.ts'
import { byName, Id, Name } from '../kit/name.ts'
import { judged } from '../kit/schema.ts'

const Seconds = v.pipe(v.number(), v.finite(), v.minValue(0), v.maxValue(1e7), v.metadata({ unit: 's' }))
const Path = v.pipe(v.string(), v.nonEmpty(), v.maxLength(4096))

/** `prep/out`: a position of a bench, as the file names the bench. */
const Spot = v.pipe(v.string(), v.regex(/^[A-Za-z0-9_-]{1,64}\/.{1,128}$/, 'must be BENCH/POSITION, as in "prep/out"'))

const Run = v.strictObject({
  on: described(Id, 'The bench, as `benches` names it'),
  workflow: described(Id, 'The workflow that runs there'),
  thread: described(v.optional(Id), 'The thread of the labware that travels; it may be left out where the workflow begins with one thread'),
  from: described(v.optional(Name), 'The position at which the labware arrives, marked "handover" in the topology'),
  until: described(v.optional(Name), 'The position from which a carrier takes the labware, marked "handover" in the topology'),
  variables: described(v.optional(byName(v.unknown()), {}), 'Variables of the workflow'),
})

const Carry = v.strictObject({
  carry: described(Spot, 'BENCH/POSITION to which the labware is carried'),
  by: described(Id, 'The carrier, as `carriers` names it'),
  max_wait: described(
    v.optional(Seconds, 600),
    'The journey asks for attention when labware waits for its carrier for longer; nothing is freed or repeated by it',
  ),
})

/** Whether a step is meant as a carry, so that its mistakes are worded for a carry. */
function isCarry(step: unknown): boolean {
  if (typeof step !== 'object' || step === null || 'on' in step || 'workflow' in step) return false
  return Object.keys(step).some((member) => nearest(member, Object.keys(Carry.entries)) !== undefined)
}

const byWhat =
  'its API key may go only to whom this file names: write its address, "url", or its name in the lab and the "fingerprint" of its certificate'

/** Identifies the bench that gets the API key by its address or its certificate, never by what the broker says. */
const BenchPlace = v.pipe(
  v.strictObject({
    url: described(
      v.optional(v.pipe(v.string(), v.regex(/^https?:\/\/[^\s"'<>/@]+\/?$/, 'must be an address like https://lab-pi-1.local:8520'))),
      'Its address; without it the one that the bench tells the broker',
    ),
    fingerprint: described(
      v.optional(v.pipe(v.string(), v.regex(/^([0-9A-Fa-f]{2}:?){32}$/, 'must be the SHA-256 of a certificate, 64 hexadecimal digits'))),
      'SHA-256 of its certificate, as the service logs it at its start: nothing is sent to a bench that has another',
    ),
    name: described(v.optional(Id), 'Its name in the lab, by which it is known at the broker'),
  }),
  v.check(({ url, fingerprint, name }) => url !== undefined || (name !== undefined && fingerprint !== undefined), byWhat),
  v.check(
    ({ url = 'https:', fingerprint }) => fingerprint === undefined || url.startsWith('https:'),
    'an address that begins with http:// has no certificate; write https://',
  ),
)

/** Refuses a name alone with a sentence that says what to write: any client of the broker could announce an address for it. */
const NameAlone = v.pipe(
  v.string(),
  v.check(() => false, byWhat),
)
const Bench = v.lazy((input) => (typeof input === 'string' ? NameAlone : BenchPlace)) as v.GenericSchema<
  unknown,
  v.InferOutput<typeof BenchPlace>
>

const LabFile = v.strictObject({
  $schema: v.optional(v.string()),
  format: v.literal(1),
  name: Id,
  database: described(
    v.optional(
      v.pipe(v.string(), v.regex(/^postgres(ql)?:\/\//, 'must be an address like postgresql://user@host/database')),
      'postgresql:///benchd_lab?host=/var/run/postgresql',
    ),
    'The PostgreSQL database of the coordinator',
  ),
  broker: described(
    v.optional(v.strictObject({ servers: FleetConfig.entries.servers, credentials: v.optional(Path), ca: v.optional(Path) })),
    'The broker of the lab: it knows the addresses of the benches, and holds who has which labware',
  ),
  keep_journeys: described(
    v.optional(Whole(1, 1_000_000), 10_000),
    'Of journeys that have ended so many are kept, the newest; who had their labware goes with them',
  ),
  keys: described(v.optional(Path, 'keys'), 'Folder with the API key of each bench, in NAME.key; beside this file by default'),
  benches: v.record(Id, Bench),
  carriers: v.optional(
    v.record(
      Id,
      v.strictObject({
        routes: described(v.pipe(v.array(v.tuple([Spot, Spot])), v.minLength(1)), 'From where to where it carries'),
        seconds: described(Seconds, 'How long it takes, for dry runs'),
      }),
    ),
    {},
  ),
  journeys: v.record(
    Id,
    v.pipe(
      v.array(v.lazy((input) => (isCarry(input) ? Carry : Run)) as v.GenericSchema<unknown, Run | Carry>),
      v.minLength(1),
      v.maxLength(64),
    ),
  ),
})
type LabFile = v.InferOutput<typeof LabFile>
type Run = v.InferOutput<typeof Run>
type Carry = v.InferOutput<typeof Carry>

/** A run of a journey, and how the labware comes to it. */
export type Leg = {
  /** The place of the run in the file, for messages. */
  place: string
  bench: string
  workflow: string
  thread: string | undefined
  from: string | undefined
  until: string | undefined
  variables: Record<string, unknown>
  carried: { by: string; from: string; to: string; seconds: number; max_wait: number } | undefined
}

export type Lab = LabFile & { origin: string; folder: string; legs: ReadonlyMap<string, readonly Leg[]> }

/** Reads the lab file. Rejects with `config`, naming each mistake and its place. */
export async function readLabFile(path: string): Promise<Lab> {
  const text = await readText(path).catch((error) => {
    throw new LabError('config', `the lab file: ${messageOf(error)}`, { cause: error })
  })
  return parseLabFile(text, path)
}

/** Throws `config`, naming each mistake and its place. */
export function parseLabFile(text: string, origin: string): Lab {
  let content: unknown
  try {
    content = parseJsonWithComments(text, origin)
  } catch (error) {
    throw error instanceof LabError ? new LabError('config', error.message, { cause: error }) : error
  }
  const file = judged(LabFile, content)
  if ('mistakes' in file) throw mistaken(origin, file.mistakes)
  const mistakes: string[] = []
  for (const [name, { url }] of Object.entries(file.output.benches))
    if (url === undefined && !file.output.broker) mistakes.push(`benches.${name}: without a "broker" nobody tells its address; write "url"`)
  const legs = new Map(Object.entries(file.output.journeys).map(([name, steps]) => [name, legsOf(name, steps, file.output, mistakes)]))
  checkRoutes(file.output, mistakes)
  if (mistakes.length) throw mistaken(origin, mistakes)
  return { ...file.output, origin, folder: dirname(origin), legs }
}

/** All mistakes of a lab file as one error. */
export function mistaken(origin: string, mistakes: readonly string[]): LabError {
  const shown = mistakes.slice(0, 20).map((mistake) => `${origin}: ${mistake}`)
  const more = mistakes.length > 20 ? [`and ${mistakes.length - 20} more`] : []
  return new LabError('config', [...shown, ...more].join('\n'))
}

/** Resolves a path of the lab file against the folder of the file. */
export function pathIn({ folder }: Pick<Lab, 'folder'>, path: string): string {
  return isAbsolute(path) ? path : join(folder, path)
}

function legsOf(name: string, steps: readonly (Run | Carry)[], file: LabFile, mistakes: string[]): Leg[] {
  const legs: Leg[] = []
  let carried: (Carry & { place: string }) | undefined
  steps.forEach((step, i) => {
    const place = `journeys.${name}[${i}]`
    if ('carry' in step) {
      if (carried || legs.length === 0) mistakes.push(`${place}: a carry stands between two runs`)
      carried = { ...step, place }
      return
    }
    const before = legs.at(-1)
    if (before && !carried) mistakes.push(`${place}: between two runs stands the carry that brings the labware, {"carry": …, "by": …}`)
    mustBeKnown('bench', step.on, file.benches, `${place}.on`, mistakes)
    const { on: bench, workflow, thread, until, variables } = step
    const arrival = before && carried ? arrivalOf(step, { place, before, carried }, file, mistakes) : undefined
    if (!before && step.from !== undefined)
      mistakes.push(`${place}.from: the first run has no carrier that brings the labware; leave from out`)
    legs.push({ place, bench, workflow, thread, from: arrival?.to, until, variables, carried: arrival })
    carried = undefined
  })
  if (carried) mistakes.push(`${carried.place}: behind the last carry stands a run that takes the labware`)
  if (legs.at(-1)?.until !== undefined)
    mistakes.push(`${legs.at(-1)!.place}.until: the last run of a journey hands nothing on; leave until out`)
  return legs
}

type Arrival = { place: string; before: Leg; carried: Carry & { place: string } }

function arrivalOf(run: Run, { place, before, carried }: Arrival, file: LabFile, mistakes: string[]): NonNullable<Leg['carried']> {
  const [bench = '', position = ''] = splitSpot(carried.carry)
  if (bench !== run.on) mistakes.push(`${carried.place}.carry: it carries to the bench ${bench}, and the next run is on ${run.on}`)
  if (run.from !== undefined && run.from !== position)
    mistakes.push(`${place}.from: it is ${run.from}, and the labware is carried to ${carried.carry}`)
  if (before.until === undefined)
    mistakes.push(`${before.place}.until: it is missing; name the position at which a carrier takes the labware`)
  const from = `${before.bench}/${before.until}`
  mustBeKnown('carrier', carried.by, file.carriers, `${carried.place}.by`, mistakes)
  const carrier = Object.hasOwn(file.carriers, carried.by) ? file.carriers[carried.by] : undefined
  if (carrier && before.until !== undefined && !carrier.routes.some((route) => route[0] === from && route[1] === carried.carry))
    mistakes.push(`${carried.place}: ${carried.by} has no route from ${from} to ${carried.carry}; add it to carriers.${carried.by}.routes`)
  return { by: carried.by, from: before.until ?? '', to: position, seconds: carrier?.seconds ?? 0, max_wait: carried.max_wait }
}

function checkRoutes(file: LabFile, mistakes: string[]): void {
  for (const [name, { routes }] of Object.entries(file.carriers))
    routes.forEach((route, i) => {
      for (const spot of route) mustBeKnown('bench', splitSpot(spot)[0]!, file.benches, `carriers.${name}.routes[${i}]`, mistakes)
    })
}

function mustBeKnown(kind: string, word: string, known: object, place: string, mistakes: string[]): void {
  if (!Object.hasOwn(known, word)) mistakes.push(`${place}: there is no ${kind} ${word}${didYouMean(word, Object.keys(known))}`)
}

/** Splits BENCH/POSITION; a position may have slashes of its own. */
function splitSpot(spot: string): [bench: string, position: string] {
  const at = spot.indexOf('/')
  return [spot.slice(0, at), spot.slice(at + 1)]
}
