// Checks external values against schemas, and words their mistakes.

import * as v from 'valibot'
import { type ErrorCode, LabError } from '../errors.ts'
import { didYouMean, didYouMeanOrAmong, nearest } from './did_you_mean.ts'

/**
 * Returns the parsed value. Throws `code`, naming the member and its requirement. `what` begins the sentence.
 */
export function checked<Schema extends v.GenericSchema>(
  schema: Schema,
  input: unknown,
  what: string,
  code: ErrorCode = 'invalid',
): v.InferOutput<Schema> {
  if (schema.type === 'strict_object' && Array.isArray(input)) throw new LabError(code, `${what}: it must be an object, not an array`)
  const first = v.safeParse(schema, input, { abortEarly: true })
  // All mistakes of a large input would take many times its memory.
  const result = first.success || !isSmall(input) ? first : v.safeParse(schema, input)
  if (result.success) {
    const array = arrayTakenForObject(input, result.output)
    if (array) throw new LabError(code, `${what}: ${array.length ? written(array) : 'it'} must be an object, not an array`)
    return result.output
  }
  // Of several shapes, the intended one gives the mistake.
  const meant = optionFor(schema as Shape & v.GenericSchema, input)
  if (meant) return checked(meant, input, what, code)
  // An unknown member often explains why another is missing.
  const issue = result.issues.find(isUnknownMember) ?? result.issues[0]
  throw new LabError(code, `${what}: ${worded(issue, schema)}`)
}

/**
 * Returns the parsed value, or a sentence for each mistake, for files that people write: unlike `checked` it does
 * not stop at the first mistake of a large input.
 */
export function judged<Schema extends v.GenericSchema>(
  schema: Schema,
  input: unknown,
): { output: v.InferOutput<Schema> } | { mistakes: string[] } {
  if (schema.type === 'strict_object' && Array.isArray(input)) return { mistakes: ['it must be an object, not an array'] }
  const rest = structuredClone(input)
  const unknown: v.BaseIssue<unknown>[] = []
  const misspelled = new Set<string>()
  // Valibot reports one unknown member of each object, so they are removed one by one.
  for (;;) {
    const { issues = [], output } = v.safeParse(schema, rest)
    const found = issues.filter(isUnknownMember).flatMap((issue) => unknownMembersBeside(issue, schema))
    if (found.length === 0) {
      const others = issues.filter((issue) => !(isMissing(issue) && misspelled.has(written(keysOf(issue)))))
      const mistakes = [...unknown, ...others].map((issue) => worded(issue, schema))
      const array = issues.length === 0 ? arrayTakenForObject(input, output) : undefined
      if (array) mistakes.push(`${array.length ? written(array) : 'it'} must be an object, not an array`)
      return mistakes.length ? { mistakes } : { output: output as v.InferOutput<Schema> }
    }
    for (const issue of found) {
      unknown.push(issue)
      const keys = keysOf(issue)
      const meant = nearest(String(keys.at(-1)), membersAt(schema as Shape, issue.path as PathStep[]))
      if (meant !== undefined) misspelled.add(written([...keys.slice(0, -1), meant]))
      const { input: holder, key } = issue.path!.at(-1) as { input: Record<string, unknown>; key: string }
      delete holder[key]
    }
  }
}

/** Returns the issue, and one for each other unknown member of the object. */
function unknownMembersBeside(issue: v.BaseIssue<unknown>, schema: v.GenericSchema): v.BaseIssue<unknown>[] {
  const path = issue.path!
  const last = path.at(-1) as v.ObjectPathItem
  const known = new Set(membersAt(schema as Shape, path as unknown as PathStep[]))
  const others = known.size === 0 ? [] : Object.keys(last.input).filter((key) => key !== last.key && !known.has(key))
  return [issue, ...others.map((key) => ({ ...issue, path: [...path.slice(0, -1), { ...last, key }] as unknown as typeof path }))]
}

/** The parts up to which a value is checked completely, since an unknown member may come after one that is missing because of it. */
const fewValues = 1000

function isSmall(input: unknown): boolean {
  const open = [input]
  for (let seen = 0; open.length > 0; seen++) {
    if (seen + open.length > fewValues) return false
    const value = open.pop()
    if (typeof value !== 'object' || value === null) continue
    const members = Array.isArray(value) ? value : Object.values(value)
    if (members.length > fewValues) return false
    open.push(...members)
  }
  return true
}

/** Returns the only array or object among the options of a union. */
function optionFor({ type, options }: Shape & v.GenericSchema, input: unknown): v.GenericSchema | undefined {
  if (type !== 'union' || typeof input !== 'object' || input === null) return undefined
  const alike = (options ?? []).filter((option) => (option.item !== undefined) === Array.isArray(input))
  return alike.length === 1 ? (alike[0] as Shape & v.GenericSchema) : undefined
}

/** Finds an array in the place of an object, which valibot accepts for an object without required members and for a record. */
function arrayTakenForObject(input: unknown, output: unknown): (string | number)[] | undefined {
  if (typeof input !== 'object' || input === null || typeof output !== 'object' || output === null) return undefined
  if (Array.isArray(input) && !Array.isArray(output)) return []
  for (const key of Object.keys(output)) {
    const found = arrayTakenForObject((input as Record<string, unknown>)[key], (output as Record<string, unknown>)[key])
    if (found) return [Array.isArray(output) ? Number(key) : key, ...found]
  }
  return undefined
}

function worded(issue: v.BaseIssue<unknown>, schema: v.GenericSchema): string {
  const keys = keysOf(issue)
  const place = keys.length ? written(keys) : 'it'
  if (isUnknownMember(issue))
    return `there is no member ${place}${didYouMeanOrAmong(String(keys.at(-1)), membersAt(schema as Shape, issue.path as PathStep[]))}`
  if (isMissing(issue)) {
    const known = issue.expected?.startsWith('(') ? issue.expected : undefined
    const expects = known ?? (issue.path && entryAt(schema as Shape, issue.path as PathStep[])?.expects)
    return expects?.startsWith('(') ? `${place} is missing; it must be ${expectation(expects)}` : `${place} is missing`
  }
  // The intended shape is unknown, so the schema's own message is used.
  if (issue.type === 'union' && issue.message.startsWith('must be')) return `${place} ${issue.message}`
  // The value is an object that fits none of the shapes.
  if (issue.type === 'union' && issue.expected === issue.received) return `${place} has none of the shapes that it may have`
  if (issue.kind === 'schema')
    return `${place} must be ${expectation(issue.expected)}, not ${inWords(issue.received).slice(0, 80)}${didYouMean(String(issue.input), wordsOf(issue))}`
  const bound = issue.message.startsWith('Invalid') ? bounds[issue.type] : undefined
  return bound ? `${place} must ${bound(issue)}` : `${place}${/^(must|is|has) /.test(issue.message) ? '' : ':'} ${issue.message}`
}

const bounds: Readonly<Record<string, (issue: v.BaseIssue<unknown>) => string>> = {
  min_length: (issue) => `have at least ${lengths(issue)}`,
  max_length: (issue) => `have at most ${lengths(issue)}`,
  non_empty: () => 'not be empty',
  min_value: ({ requirement, received }) => `be at least ${requirement}, not ${received}`,
  max_value: ({ requirement, received }) => `be at most ${requirement}, not ${received}`,
  integer: ({ received }) => `be a whole number, not ${received}`,
  finite: ({ received }) => `be finite, not ${received}`,
  url: ({ received }) => `be a URL, not ${received}`,
}

/** Words lengths as `128 characters, not 5000`. */
function lengths({ requirement, received, input }: v.BaseIssue<unknown>): string {
  return `${requirement} ${typeof input === 'string' ? 'characters' : 'members'}, not ${received}`
}

function isUnknownMember(issue: v.BaseIssue<unknown>): boolean {
  return issue.kind === 'schema' && issue.expected === 'never'
}

function isMissing(issue: v.BaseIssue<unknown>): boolean {
  return issue.kind === 'schema' && issue.received === 'undefined'
}

function keysOf({ path }: v.BaseIssue<unknown>): (string | number)[] {
  return (path ?? []).map(({ key }) => key as string | number)
}

/** Returns the expected words, if the input was a word. */
function wordsOf({ expected, input }: v.BaseIssue<unknown>): string[] {
  if (typeof input !== 'string' || !expected?.startsWith('(')) return []
  return [...expected.matchAll(/"([^"]*)"/g)].map(([, word]) => word!)
}

/** Writes a path as `devices[0].transport.path`. */
function written(keys: readonly (string | number)[]): string {
  return keys.reduce<string>((path, key) => (typeof key === 'number' ? `${path}[${key}]` : path ? `${path}.${key}` : key), '')
}

function expectation(expected: string | null): string {
  if (!expected) return 'something else'
  if (!expected.startsWith('(')) return inWords(expected)
  const options = expected.slice(1, -1).split(' | ')
  return options.every((type) => type in typeWords) ? options.map(inWords).join(' or ') : `one of ${options.join(', ')}`
}

function inWords(type: string): string {
  return typeWords[type] ?? type
}

const typeWords: Readonly<Record<string, string>> = {
  ...{ Object: 'an object', Array: 'an array', number: 'a number', string: 'a text', boolean: 'true or false' },
}

type Shape = {
  /** Valibot's words for the accepted values: `number`, `("slow" | "fast")`. */
  expects?: string
  entries?: Record<string, Shape>
  item?: Shape
  value?: Shape
  wrapped?: Shape
  options?: Shape[]
  getter?: (input: unknown) => Shape
}
/** A step of a path, and the value that contains it. */
type PathStep = { key: string | number; input: unknown }

/** Returns the known members of the object at the last step of the path. */
function membersAt(schema: Shape, path: readonly PathStep[]): string[] {
  const [{ key, input }, ...rest] = path as [PathStep, ...PathStep[]]
  const shape = plainOf(schema, input)
  const ofOptions = () => [...new Set((shape.options ?? []).flatMap((option) => membersAt(option, path)))]
  if (rest.length === 0) return Object.keys(shape.entries ?? {}).concat(ofOptions())
  const inner = typeof key === 'number' ? shape.item : (shape.entries?.[key] ?? shape.value)
  return inner ? membersAt(inner, rest) : ofOptions()
}

/** Returns the schema of the member at the path, if only one shape is possible on the way. */
function entryAt(schema: Shape, path: readonly PathStep[]): Shape | undefined {
  const [{ key, input }, ...rest] = path as [PathStep, ...PathStep[]]
  const shape = plainOf(schema, input)
  const inner = typeof key === 'number' ? shape.item : (shape.entries?.[key] ?? shape.value)
  return inner && (rest.length === 0 ? (inner.wrapped ?? inner) : entryAt(inner, rest))
}

function plainOf(schema: Shape, input: unknown): Shape {
  const plain = schema.wrapped ?? schema
  return plain.getter?.(input) ?? plain
}
