import { readFile } from 'node:fs/promises'
import { test } from 'tap'
import { demoTopology, sealAndSpin } from '../src/examples/seal_and_spin.ts'
import { smcAssay, smcTopology } from '../src/examples/smc_assay.ts'
import type { JsonSchema } from '../src/kit/json_schema.ts'
import { topologySchema, workflowSchema } from './workflow_schemas.ts'

const schemas = { topology: topologySchema(), workflow: workflowSchema() }

for (const [name, schema] of Object.entries(schemas)) {
  test(`the committed schema of a ${name} is what the tables say`, async (t) => {
    const path = `src/schemas/${name}.schema.json`
    const committed = await readFile(new URL(`../../${path}`, import.meta.url), 'utf8')
    t.ok(committed === `${JSON.stringify(schema, null, 2)}\n`, `${path} is not in step with the tables; run npm run generate`)
  })
}

test('the shipped topologies and workflows have only members that the schemas know', async (t) => {
  for (const document of [demoTopology, smcTopology]) t.same(strangers(document, schemas.topology, schemas.topology), [])
  for (const document of [sealAndSpin, smcAssay]) t.same(strangers(document, schemas.workflow, schemas.workflow), [])
  t.same(strangers({ ...sealAndSpin, more: 1, threads: { plate: { seps: [] } } }, schemas.workflow, schemas.workflow), [
    'threads.plate.seps',
    'more',
  ])
  t.same(strangers({ methods: { x: [{ do: 'a', onn: 'b' }] } }, schemas.workflow, schemas.workflow), ['methods.x.0.onn'])
  t.same(strangers({ methods: { x: { actions: [], on_stop: [] } } }, schemas.workflow, schemas.workflow), ['methods.x.on_stop'])
})

/** The paths of members that a closed schema does not have. */
function strangers(value: unknown, schema: JsonSchema, top: JsonSchema, path: readonly string[] = []): string[] {
  if (typeof value !== 'object' || value === null) return []
  const shape = meant(value, resolved(schema, top), top)
  const { properties = {}, additionalProperties: rest, items } = shape as Record<string, JsonSchema & Record<string, JsonSchema>>
  return Object.entries(value).flatMap(([key, inner]) => {
    const next = Array.isArray(value) ? items : (properties[key] ?? rest)
    if ((next as unknown) === false) return [[...path, key].join('.')]
    return next ? strangers(inner, next, top, [...path, key]) : []
  })
}

function resolved(schema: JsonSchema, top: JsonSchema): JsonSchema {
  const name = /^#\/\$defs\/(.*)$/.exec(String(schema.$ref))?.[1]
  return name ? (top.$defs as Record<string, JsonSchema>)[name]! : schema
}

/** Of several shapes the list for a list, else the one whose required members are there. */
function meant(value: object, schema: JsonSchema, top: JsonSchema): JsonSchema {
  const options = ((schema.anyOf ?? []) as JsonSchema[]).map((option) => resolved(option, top))
  const isMeant = ({ type, required }: JsonSchema) =>
    Array.isArray(value) ? type === 'array' : (required as string[] | undefined)?.some((member) => member in value) === true
  return options.find(isMeant) ?? schema
}
