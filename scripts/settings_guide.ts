// The reference of the settings, made from the schema of the configuration.

/** The keywords that settings use. */
export type Schema = {
  type?: string | string[]
  description?: string
  default?: unknown
  enum?: unknown[] | undefined
  const?: unknown
  minimum?: number
  maximum?: number
  items?: Schema
  properties?: Record<string, Schema>
  anyOf?: Schema[]
  oneOf?: Schema[]
  allOf?: unknown
}

type Row = { path: string; schema: Schema }

type Rule = { if: { properties: { driver: { const: string } } }; then: { properties: { settings?: Schema; transport?: unknown } } }

/** Markdown for the schema that `configSchema` answers. */
export function settingsGuide(schema: Schema): string {
  const rules = schema.properties?.['devices']?.items?.allOf as Rule[]
  const drivers = rules.flatMap(({ if: { properties }, then }) => {
    const settings = then.properties.settings
    const rows = settings?.properties && Object.keys(settings.properties).length > 0 ? rowsOf(settings, 'settings') : []
    return rows.length > 0 ? [`### \`${properties.driver.const}\`\n\n${table(rows)}`] : []
  })
  return `# Settings

Every member of the configuration, \`/etc/benchd/config.json\`. \`benchd config check\` says what is wrong with it, \`benchd config show --effective\` shows what is
in force and where it is from, \`benchd config set PATH VALUE\` changes a value and keeps the comments. \`[]\` stands for each entry of a list. A setting without a
default may be left out unless it is required.

${table(rowsOf(schema, ''))}

## Settings of each driver

They stand in \`devices[].settings\`. A driver that is not here has none. The README of the driver says more.

${drivers.join('\n\n')}
`
}

/** The values that a person sets, in the order of the schema. */
export function rowsOf(schema: Schema, path: string): Row[] {
  if (schema.properties && Object.keys(schema.properties).length > 0)
    return Object.entries(schema.properties).flatMap(([name, member]) => rowsOf(told(member, schema), path ? `${path}.${name}` : name))
  if (schema.items?.properties) return rowsOf(schema.items, `${path}[]`)
  const variants = schema.anyOf ?? schema.oneOf ?? []
  const objects = variants.filter(({ properties }) => properties)
  if (objects.length === 0) return [{ path, schema }]
  const others = variants.filter(({ properties }) => !properties)
  const plain = others.map((variant) => ({ path, schema: { description: schema.description, default: schema.default, ...variant } }))
  return [...plain, ...withPurpose(schema, distinct(objects.flatMap((variant) => rowsOf(told(variant, schema), path))))]
}

/** Where an object is written in several ways, the first of its members tells what the object is for as well. */
function withPurpose({ description: purpose }: Schema, [first, ...more]: Row[]): Row[] {
  if (!first) return []
  const own = first.schema.description
  if (!purpose || !own || own === purpose) return [first, ...more]
  return [{ path: first.path, schema: { ...first.schema, description: `${purpose}. ${own}` } }, ...more]
}

/** A member without a description takes over the description of its object. */
function told(member: Schema, above: Schema): Schema {
  return member.description === undefined && above.description !== undefined ? { ...member, description: above.description } : member
}

function distinct(rows: readonly Row[]): Row[] {
  const all = new Map<string, Row>()
  for (const row of rows) {
    const before = all.get(row.path)
    const consts = [before?.schema, row.schema].flatMap((one) => one?.enum ?? (one?.const === undefined ? [] : [one.const]))
    all.set(
      row.path,
      consts.length > 0 ? { path: row.path, schema: { ...row.schema, const: undefined, enum: [...new Set(consts)] } } : (before ?? row),
    )
  }
  return [...all.values()]
}

function table(rows: readonly Row[]): string {
  const cells = rows.map(({ path, schema }) => [`\`${path}\``, valuesOf(schema), defaultOf(schema), schema.description ?? ''])
  return [['setting', 'values', 'default', 'meaning'], ['---', '---', '---', '---'], ...cells]
    .map((row) => `| ${row.map((cell) => cell.replaceAll('|', '\\|').replaceAll('\n', ' ')).join(' | ')} |`)
    .join('\n')
}

function valuesOf(schema: Schema): string {
  const { type, minimum, maximum, anyOf } = schema
  const choices = schema.enum ?? (schema.const === undefined ? undefined : [schema.const])
  if (choices) return choices.map((one) => `\`${one}\``).join(', ')
  if (anyOf) return anyOf.map(valuesOf).join(' or ')
  const types = [type].flat().filter((one) => one !== undefined)
  const words = types.map((one) => names[String(one)] ?? String(one)).join(' or ')
  if (schema.items) return `list of ${valuesOf(schema.items)}`
  if (minimum !== undefined && maximum !== undefined) return `${words}, ${minimum} to ${maximum}`
  return minimum === undefined ? words : `${words}, ${minimum} or more`
}

const names: Record<string, string> = {
  integer: 'whole number',
  number: 'number',
  string: 'text',
  boolean: '`true`, `false`',
  object: 'object',
  null: '`null`',
  array: 'list',
}

function defaultOf(schema: Schema): string {
  return schema.default === undefined ? '' : `\`${JSON.stringify(schema.default)}\``
}
