// The description that the program behind a device gives of itself: its model, its operations with their parameters, its readings.

import { isDeepStrictEqual } from 'node:util'
import * as v from 'valibot'
import { LabError } from '../errors.ts'
import { described, Whole } from '../kit/described.ts'
import { checked } from '../kit/schema.ts'
import { axisNames } from './axes.ts'
import { isList, operations as table } from './operations.ts'
import { isNumeric, kindsOf, mayBeNull, ParamsDescription, type ParamsSchema, paramsSchema, shownSchema } from './params_schema.ts'
import { measurements } from './reading_table.ts'
import { type Skill, skills } from './way.ts'

const Word = v.pipe(v.string(), v.regex(/^[a-z][a-z0-9_]{0,31}$/, 'the name is a small letter, then small letters, digits and _'))

/** The name of an operation of a program; libraries of instruments have long ones. */
const OperationName = v.pipe(
  v.string(),
  v.regex(/^[a-z][a-z0-9_]{0,63}$/, 'the name of an operation is a small letter, then small letters, digits and _, at most 64 in all'),
)
const mostOperations = 1000

/** The type of a device with a program behind it. A `transporter` carries labware; any other word is a type of its own. */
export const BridgeType = Word

/** The longest that an operation of a program behind a device may take. */
export const mostSeconds = 7 * 24 * 3600
const Seconds = v.pipe(v.number(), v.minValue(0), v.maxValue(mostSeconds))

/** The members of the data that an operation gives, with their units. */
const Returns = v.pipe(
  v.record(v.pipe(v.string(), v.minLength(1), v.maxLength(64)), v.pipe(v.string(), v.maxLength(20))),
  v.check((all) => Object.keys(all).length <= 128, 'has more than 128 members'),
)

const DescribedOperation = v.strictObject({
  summary: v.optional(described(v.pipe(v.string(), v.maxLength(200)), 'What it does, in a few words')),
  params: v.optional(described(ParamsDescription, 'A JSON Schema of its parameters'), {}),
  seconds: described(
    v.union([Seconds, v.strictObject({ param: v.string(), plus: v.optional(Seconds, 0) })]),
    'How long it takes: a number, or a parameter that says so and what comes on top of it',
  ),
  margin_s: v.optional(described(Seconds, 'Seconds over that, after which it is given up and the device is halted'), 30),
  labware_sites: v.optional(described(Whole(0, 1000), 'How many labware it takes at once; more are refused in a workflow')),
  returns: v.optional(described(Returns, 'The units of the values that it gives: {"weight": "g"}')),
  can_end_early: v.optional(described(v.boolean(), 'Whether `end` ends it in an orderly way'), false),
  leaves_on: v.optional(
    described(
      v.nullable(v.picklist(['motion', 'heat', 'no heat'])),
      'What goes on by itself if everything here ends: `motion` until it is done, `heat` also after that; `no heat`: it ends all that other operations have left on',
    ),
    'motion',
  ),
})
type DescribedOperation = v.InferOutput<typeof DescribedOperation>

export const Operations = v.pipe(
  v.record(OperationName, DescribedOperation),
  v.check((all) => Object.keys(all).length <= mostOperations, `has more than ${mostOperations} operations`),
)
export const Readings = v.pipe(
  v.record(Word, v.strictObject({ unit: v.optional(v.pipe(v.string(), v.maxLength(20)), '') })),
  v.check((all) => Object.keys(all).length <= 32, 'has more than 32 readings'),
)

/** Whether a transporter goes to the teachpoints of the bench, or knows its positions by their names. */
export const Points = v.picklist(['taught', 'own'])
export const Skills = v.array(v.picklist(Object.keys(skills) as Skill[]))

const Text = v.pipe(v.string(), v.maxLength(128))

export const Description = v.strictObject({
  protocol: v.literal(1),
  type: Word,
  model: Text,
  identity: v.optional(
    v.nullable(v.strictObject({ serial_number: v.optional(v.nullable(Text), null), firmware_version: v.optional(v.nullable(Text), null) })),
    null,
  ),
  operations: Operations,
  readings: v.optional(Readings, {}),
  halt: v.optional(described(v.literal('none'), 'Nothing that the program knows ends what the instrument does')),
  proposed_halt: v.optional(
    described(
      v.pipe(
        v.array(
          v.pipe(v.string(), v.regex(/^[A-Za-z_]\w{0,63}(=\{.{0,200}\})?$/, 'must be the name of a method, or METHOD={"param": value}')),
        ),
        v.minLength(1),
        v.maxLength(32),
      ),
      'The methods by which the program would halt the instrument, guessed by their names: until the configuration names them, no LIVE run uses the device',
    ),
  ),
  points: v.optional(described(Points, 'Only of a transporter: `taught` for teachpoints of the bench, `own` for positions by their names')),
  skills: v.optional(described(Skills, 'Only of a transporter with `taught` points: its skills besides going to a pose')),
  jog: v.optional(
    described(v.pipe(v.array(v.picklist(axisNames)), v.nonEmpty()), 'Only of a transporter: the axes along which it can be jogged'),
  ),
  free_drive: v.optional(described(v.boolean(), 'Only of a transporter: whether a person can lead it by hand')),
  go_to: v.optional(described(v.boolean(), 'Only of a transporter: whether it goes to a position without picking or placing')),
})
export type Description = v.InferOutput<typeof Description>

/** An operation that a device has described. */
export type OwnOperation = {
  summary: string | undefined
  readonly params: ParamsSchema
  /** The JSON Schema of the parameters. */
  schema: Record<string, unknown>
  /** Seconds that it takes with these parameters. */
  seconds(params: Readonly<Record<string, unknown>>): number
  /** The parameter for the duration, if there is one. */
  timed_by: string | undefined
  /** Seconds besides the parameter for the duration, and the largest value of that parameter. */
  usual_s: number
  longest_s: number
  margin_s: number
  leaves_on: 'motion' | 'heat' | 'no heat' | null
  can_end_early: boolean
  /** The most labware that it takes; undefined if the program does not say. */
  labware_sites: number | undefined
  /** The units of the values that it gives, by their names. */
  returns: Readonly<Record<string, string>>
}

/** Reserved names. */
const taken: readonly string[] = [
  'stop',
  'halt',
  ...measurements().map(({ question }) => question),
  'initialize',
  'initialized',
  'check',
  'describe',
  'perform',
  'end',
]

/** The members of a description for movements that a person leads. */
export const byHand = ['jog', 'free_drive', 'go_to'] as const

/** Names that only a transporter must not give to its operations: its moves. */
const takenByTransporters: readonly string[] = ['pick', 'place', 'where', 'pose', ...byHand]

/** Parses a description. Throws `device_failed`, naming the place. */
export function readDescription(input: unknown): Description {
  const description = checked(Description, input, 'its description', 'device_failed')
  try {
    checkDescription(description)
  } catch (error) {
    if (!(error instanceof LabError)) throw error
    throw new LabError('device_failed', `its description: ${error.message}`, { cause: error })
  }
  return description
}

/** Throws `invalid`, naming the place, for a description whose parts contradict each other. */
export function checkDescription(description: Description): void {
  const { type, operations, points, skills: able, halt, proposed_halt } = description
  if (halt && proposed_halt)
    throw new LabError('invalid', `proposed_halt names ${proposed_halt.join(', ')}, and halt is "none"; leave one of them out`)
  for (const operation of ownOperations(description).values()) void operation.params
  if (type !== 'transporter') {
    const movement = byHand.find((name) => description[name] !== undefined)
    if (movement) throw new LabError('invalid', `only a transporter has ${movement}, and its type is ${type}; leave it out`)
    if (points === undefined && able === undefined) return
    throw new LabError('invalid', `only a transporter has points and skills, and its type is ${type}; leave them out`)
  }
  if (points === undefined)
    throw new LabError('invalid', 'points is missing; "taught" for teachpoints of the bench, "own" if the program knows its positions')
  const name = takenByTransporters.find((word) => Object.hasOwn(operations, word))
  if (name) throw new LabError('invalid', `operations.${name}: the name ${name} has a meaning of its own for a transporter; take another`)
}

/** Makes the operations of a description, by name. Throws `invalid`, naming the place. */
export function ownOperations({ operations }: Pick<Description, 'operations'>): ReadonlyMap<string, OwnOperation> {
  return new Map(Object.entries(operations).map(([name, operation]) => [name, ownOperation(name, operation)]))
}

function ownOperation(name: string, described: DescribedOperation): OwnOperation {
  const where = `operations.${name}`
  if (taken.includes(name)) throw new LabError('invalid', `${where}: the name ${name} has a meaning of its own; take another`)
  mustBeAsInTable(name, described.params, where)
  const { seconds, summary, margin_s, leaves_on, can_end_early, labware_sites, returns = {} } = described
  const named = typeof seconds === 'number' ? undefined : mustBeSeconds(seconds.param, described.params, where)
  const usual_s = typeof seconds === 'number' ? seconds : seconds.plus
  let params: ParamsSchema | undefined
  return {
    // Compiled at the first use: a program may describe a thousand operations, of which a bench uses a few.
    get params() {
      params ??= paramsSchema(described.params, `${where}.params`)
      return params
    },
    ...{ summary, schema: shownSchema(described.params), usual_s, margin_s, leaves_on, can_end_early, labware_sites, returns },
    timed_by: named?.name,
    longest_s: usual_s + (named?.maximum ?? 0),
    seconds: (given) => usual_s + (named ? Math.max(0, Number(given[named.name] ?? named.default ?? 0)) : 0),
  }
}

function mustBeSeconds(name: string, { properties }: ParamsDescription, where: string) {
  const property = Object.hasOwn(properties, name) ? properties[name] : undefined
  if (property && !mayBeNull(property) && isNumeric(property)) return { name, ...property }
  throw new LabError('invalid', `${where}.seconds: there is no number ${JSON.stringify(name)} among its parameters`)
}

/** The operations that came into the table when programs had such names for operations of their own. */
const later: readonly string[] = ['store', 'retrieve', 'scan', 'weigh', 'tare', 'zero', 'run_profile', 'set_lid_temperature']

/** An operation with a name of the table must have its parameters, so that routes, workflows and clients work with it unchanged. */
function mustBeAsInTable(name: string, { properties, required }: ParamsDescription, where: string): void {
  // A device that is no transporter may give these names to operations of its own.
  if (!Object.hasOwn(table, name) || byHand.some((one) => one === name) || later.includes(name)) return
  const entries: Record<string, v.GenericSchema> = table[name as keyof typeof table].params.entries
  const wanted = Object.keys(entries)
  const isAlike = Object.keys(properties).sort().join() === [...wanted].sort().join()
  const isListed = (param: string) => entries[param] !== undefined && isList(entries[param])
  // A missing temperature must not mean null, which switches the heater off.
  const vague = Object.entries(properties).find(([param, property]) => {
    return mayBeNull(property) && (!required.includes(param) || property.default !== undefined)
  })
  if (vague) throw new LabError('invalid', `${where}.params.${vague[0]}: it may be null, so it must be required and have no default`)
  if (isAlike && Object.entries(properties).every(([param, its]) => (isListed(param) ? kindsOf(its).join() === 'array' : isNumeric(its))))
    return
  const numbers = wanted.filter((param) => !isListed(param)).join(' and ')
  const lists = wanted.filter(isListed).map((param) => `the list ${param}`)
  const words = [...lists, ...(numbers ? [`the numbers ${numbers}`] : [])].join(' and ') || 'no parameters'
  throw new LabError(
    'invalid',
    `${where}.params: ${name} is an operation of every bench and takes ${words}; give yours another name, or the same parameters`,
  )
}

/**
 * Lists the differences of a description from the previous one, except the identity and a proposed halt: to name the halt in the configuration is to accept
 * it, also as "none".
 */
export function changesOf(before: Description, now: Description): string[] {
  const ofParts = (['operations', 'readings'] as const).flatMap((part) => {
    const names = new Set([...Object.keys(before[part]), ...Object.keys(now[part])])
    return [...names].filter((name) => !isDeepStrictEqual(before[part][name], now[part][name])).map((name) => `${part}.${name}`)
  })
  const halt = before.proposed_halt ? [] : (['halt'] as const)
  const ofWhole = (['model', ...halt, 'points', 'skills', ...byHand] as const).filter((name) => !isDeepStrictEqual(before[name], now[name]))
  return [...ofWhole, ...ofParts]
}
