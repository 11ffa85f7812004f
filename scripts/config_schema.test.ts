import { readFile } from 'node:fs/promises'
import { test } from 'tap'
import { driverNames } from '../drivers/index.ts'
import { demoBench } from '../src/examples/demo_bench.ts'
import { bounds } from '../src/kit/refusals.ts'
import { configSchema } from './config_schema.ts'

type Schema = {
  properties: {
    devices: {
      items: { properties: { driver: { anyOf: [{ enum: string[] }, { pattern: string }] } }; additionalProperties: boolean; allOf: Rule[] }
    }
  }
}
type Rule = { if: { properties: { driver: { const: string } } }; then: { properties: { settings?: { additionalProperties: boolean } } } }

const schema = (await configSchema()) as Schema
const device = schema.properties.devices.items

test('the committed schema of the configuration is what the tables say', async (t) => {
  const committed = await readFile(new URL('../../src/schemas/config.schema.json', import.meta.url), 'utf8')
  t.ok(
    committed === `${JSON.stringify(schema, null, 2)}\n`,
    'src/schemas/config.schema.json is not in step with the tables; run npm run generate',
  )
})

test('every driver has a rule for its settings, which are closed', async (t) => {
  t.match('my_pump', new RegExp(device.properties.driver.anyOf[1].pattern), 'a driver of the lab of its own')
  t.same(device.properties.driver.anyOf[0].enum, [...driverNames, 'bridge', 'simulated', 'person', 'external'])
  t.same(
    device.allOf.map((rule) => rule.if.properties.driver.const),
    [...driverNames, 'bridge', 'simulated', 'person', 'external'],
  )
  for (const { then } of device.allOf) if (then.properties.settings) t.equal(then.properties.settings.additionalProperties, false)
  t.equal(device.additionalProperties, false)
})

test('the demo names drivers that the schema knows', async (t) => {
  for (const { driver } of demoBench.devices) t.ok(device.properties.driver.anyOf[0].enum.includes(driver), driver)
})

test('every limit of the configuration is counted by its name, and the guide tells what happens beyond it', async (t) => {
  const limits = (schema as unknown as { properties: { limits: { properties: Record<string, { default: number }> } } }).properties.limits
    .properties
  const guide = await readFile(new URL('../../systemd/README.md', import.meta.url), 'utf8')
  for (const [name, { default: usual }] of Object.entries(limits)) {
    t.ok((bounds as readonly string[]).includes(name), `${name} is counted`)
    t.match(guide, new RegExp(`^\\| \`${name}\` \\| ${usual}\\b`, 'm'), `${name} has a row with its default`)
  }
  for (const name of bounds) t.ok(guide.includes(`\`${name}\``), `${name} is told`)
})
