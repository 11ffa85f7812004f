// Shows a JSON Schema of the document: members with their types, units and ranges.

import { element, prose, table } from './element.js'

/** What `$ref` points at in the document; anything else is itself. */
export function resolved(document, thing) {
  if (!thing?.$ref) return thing
  return thing.$ref
    .slice(2)
    .split('/')
    .reduce((place, key) => place[key], document)
}

/** A table of the members; for a choice one table each. `unbounded` stands for the range of a quantity that has none here. */
export function members(document, schema, unbounded = () => '') {
  const whole = resolved(document, schema)
  const choice = whole.oneOf ?? whole.anyOf
  const shown = (one) => detail(document, one, unbounded)
  return choice ? element('div', {}, ...choice.flatMap((one) => [element('p', {}, 'Either ', ...typeOf(one)), shown(one)])) : shown(whole)
}

/** `number`, `array of Teachpoint`: names of the document are links to where they are shown. */
export function typeOf(schema) {
  if (schema.$ref) return [link(schema.$ref)]
  if (schema.const !== undefined) return [element('code', {}, JSON.stringify(schema.const))]
  if (schema.enum) return between(schema.enum.map((value) => element('code', {}, JSON.stringify(value))))
  const choice = schema.oneOf ?? schema.anyOf
  if (choice) return between(choice.map((one) => element('span', {}, ...typeOf(one))))
  if (schema.type === 'array') return ['array of ', ...typeOf(schema.items ?? {})]
  return [[schema.type ?? 'anything'].flat().join(' or ')]
}

/** `50 to 3000`, `1 to 64 characters`; empty without any bound. */
export function rangeOf({ minimum, maximum, minLength, maxLength, pattern, default: usual }) {
  const parts = [span(minimum, maximum), span(minLength, maxLength) && `${span(minLength, maxLength)} characters`, pattern]
  if (usual !== undefined) parts.push(`default ${JSON.stringify(usual)}`)
  return parts.filter(Boolean).join('; ')
}

function detail(document, schema, unbounded) {
  const { properties, required = [], type } = resolved(document, schema)
  if (!properties) return element('p', { class: 'hint' }, type === 'object' ? 'No members.' : '')
  return table(['Member', 'Type', 'Unit', 'Range', ''], rowsOf(properties, { required, unbounded, path: '' }))
}

/** Members of members stand below them, with their path. */
function rowsOf(properties, { required, unbounded, path }) {
  return Object.entries(properties).flatMap(([name, schema]) => {
    const needed = required.includes(name) ? element('strong', {}, 'required') : 'optional'
    const row = [
      element('code', {}, `${path}${name}`),
      typeOf(schema),
      schema['x-unit'] ?? '',
      rangeOf(schema) || (schema['x-unit'] ? unbounded() : ''),
      [needed, ' ', ...prose(schema.description ?? '')],
    ]
    return [row, ...rowsOf(schema.properties ?? {}, { required: schema.required ?? [], unbounded, path: `${path}${name}.` })]
  })
}

function link(ref) {
  const name = ref.slice(ref.lastIndexOf('/') + 1)
  return element('a', { href: `#schema-${name}` }, name)
}

function between(parts) {
  return parts.flatMap((part, i) => (i ? [' or ', part] : [part]))
}

function span(least, most) {
  if (least === undefined && most === undefined) return ''
  if (least === undefined) return `at most ${most}`
  return most === undefined ? `at least ${least}` : `${least} to ${most}`
}
