// The JSON Schema of the configuration file, with each driver's own settings, for editors to complete and check.

import { driverNames, drivers } from '../drivers/index.ts'
import { ConfigFile } from '../src/config.ts'
import { type JsonSchema, jsonSchema } from '../src/kit/json_schema.ts'

export async function configSchema(): Promise<object> {
  const { properties, ...schema } = jsonSchema(ConfigFile) as { properties: { devices: { items: JsonSchema } } }
  const { items: device, ...devices } = properties.devices
  const rules = await Promise.all(driverNames.map(driverRule))
  return {
    $schema: 'https://json-schema.org/draft/2020-12/schema',
    title: 'Configuration of benchd',
    ...schema,
    properties: { ...properties, devices: { ...devices, items: { ...device, allOf: [...rules, externalRule] } } },
  }
}

async function driverRule(name: (typeof driverNames)[number]): Promise<object> {
  const { settings } = await drivers[name]()
  return { if: isDriver(name), then: { properties: { settings: jsonSchema(settings) }, required: ['transport'] } }
}

const externalRule = { if: isDriver('external'), then: { properties: { transport: false } } }

function isDriver(name: string): object {
  return { properties: { driver: { const: name } }, required: ['driver'] }
}
