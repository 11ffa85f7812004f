// The JSON Schema of the configuration file, with each driver's own settings, for editors to complete and check.

import { bridges } from '../drivers/bridge/attach.ts'
import { driverNames, drivers } from '../drivers/index.ts'
import { settings as personSettings } from '../drivers/person/person.ts'
import { ConfigFile } from '../src/config/file.ts'
import { type JsonSchema, jsonSchema } from '../src/kit/json_schema.ts'

export async function configSchema(): Promise<object> {
  const { properties, ...schema } = jsonSchema(ConfigFile) as { properties: { devices: { items: JsonSchema } } }
  const { items: device, ...devices } = properties.devices
  const rules = await Promise.all(driverNames.map(driverRule))
  const programs = Object.entries(bridges).map(([name, settings]) =>
    rule(name, { properties: { settings: jsonSchema(settings) }, required: ['type', 'transport'] }),
  )
  const person = rule('person', { properties: { settings: jsonSchema(personSettings), transport: false } })
  const external = rule('external', { properties: { transport: false } })
  return {
    $schema: 'https://json-schema.org/draft/2020-12/schema',
    title: 'Configuration of benchd',
    ...schema,
    properties: { ...properties, devices: { ...devices, items: { ...device, allOf: [...rules, ...programs, person, external] } } },
  }
}

async function driverRule(name: (typeof driverNames)[number]): Promise<object> {
  const { settings } = await drivers[name]()
  return rule(name, { properties: { settings: jsonSchema(settings) }, required: ['transport'] })
}

function rule(driver: string, demand: object): object {
  return { if: { properties: { driver: { const: driver } }, required: ['driver'] }, then: demand }
}
