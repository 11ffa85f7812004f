// Parses the typed value of a parameter, at the shell or on the page, by the JSON Schema that describes it.

/** The parts of a JSON Schema by which a text is understood. */
export type TypedSchema = { type?: string | string[]; enum?: unknown[]; items?: TypedSchema }

/**
 * Returns the value of a text: JSON for an array or an object, or a list with commas for an array of scalars; a plain word for a text. Throws an error whose
 * message follows the name of the parameter.
 */
export function parameterValue(text: string, schema: TypedSchema): unknown {
  const types = typesOf(schema)
  const choice = schema.enum?.find((one) => String(one) === text)
  if (choice !== undefined) return choice
  for (const type of ['null', 'boolean', 'number', 'integer', 'array', 'object', 'string']) {
    const value = types.includes(type) ? parsers[type]!(text.trim(), schema) : undefined
    if (value !== undefined) return type === 'string' ? text : value
  }
  throw new Error(`must be ${types.map((type) => worded(type, schema)).join(' or ')}, not ${text.slice(0, 80) || 'empty'}`)
}

/** Returns the text from which `parameterValue` makes this value. */
export function typedText(value: unknown): string {
  if (typeof value === 'string') return value
  const isPlain = Array.isArray(value) && value.length > 0 && value.every(isPlainItem)
  return isPlain ? value.join(', ') : JSON.stringify(value)
}

/** Returns the types of a parameter; any, if its schema names none. */
export function typesOf({ type = ['number', 'boolean', 'array', 'object', 'string', 'null'] }: TypedSchema): string[] {
  return Array.isArray(type) ? type : [type]
}

const number = (text: string) => (/^[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?$/i.test(text) ? Number(text) : undefined)

/** Keyed by type: each returns the value of a text, or undefined for a text of another type. */
const parsers: Record<string, (text: string, schema: TypedSchema) => unknown> = {
  null: (text) => (text === 'null' ? null : undefined),
  boolean: (text) => (text === 'true' || text === 'false' ? text === 'true' : undefined),
  number,
  integer: number,
  array: listIn,
  object: (text) => (text.startsWith('{') ? jsonIn(text) : undefined),
  string: (text) => text,
}

const words: Record<string, string> = {
  boolean: 'true or false',
  number: 'a number',
  integer: 'a whole number',
  array: 'a list with commas or a JSON array such as ["A1","B2"]',
  object: 'a JSON object such as {"name":1}',
  string: 'a text',
}

/** Says how a type is typed. A list of lists or records is JSON alone. */
function worded(type: string, { items }: TypedSchema): string {
  const isPlain = !items || !typesOf(items).some((one) => one === 'array' || one === 'object')
  return type === 'array' && !isPlain ? 'a JSON array such as [{"name":1}]' : (words[type] ?? type)
}

function listIn(text: string, { type, items }: TypedSchema): unknown {
  if (text.startsWith('[')) return jsonIn(text)
  if (text === '' || (items && typesOf(items).some((one) => one === 'array' || one === 'object'))) return undefined
  // Beside other types a single word is no list.
  if (Array.isArray(type) && type.some((one) => one !== 'array' && one !== 'null') && !text.includes(',')) return undefined
  return text.split(',').map((part, i) => itemIn(part.trim(), items ?? {}, i))
}

function itemIn(text: string, items: TypedSchema, i: number): unknown {
  try {
    return parameterValue(text, items)
  } catch (error) {
    throw new Error(`[${i}] ${(error as Error).message}`)
  }
}

function jsonIn(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch (error) {
    throw new Error(`is not JSON: ${(error as Error).message}`)
  }
}

/** Whether an item reads the same in a list with commas. */
function isPlainItem(item: unknown): boolean {
  return typeof item === 'number' || (typeof item === 'string' && /^[^,\s[{"]([^,]*[^,\s])?$/.test(item))
}
