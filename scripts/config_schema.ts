// The JSON Schema of the configuration file, with each driver's own settings, for editors to complete and check.

import { bridges } from '../drivers/bridge/attach.ts'
import { driverNames, drivers } from '../drivers/index.ts'
import { settings as personSettings } from '../drivers/person/person.ts'
import { ConfigFile } from '../src/config/file.ts'
import { type JsonSchema, jsonSchema } from '../src/kit/json_schema.ts'

export async function configSchema(): Promise<object> {
  const { properties, ...schema } = jsonSchema(ConfigFile) as { properties: { devices: { items: JsonSchema } } }
  const { items: device, ...devices } = properties.devices
  openToOwnDrivers(device as Device)
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

type Device = { properties: { driver: { enum?: string[]; description?: string } & JsonSchema } }

/** Takes also the name of a driver of the lab's own; editors offer those of the catalogue. */
function openToOwnDrivers({ properties }: Device): void {
  const { enum: names, description } = properties.driver
  const own = { type: 'string', pattern: '^[a-z][a-z0-9_-]{0,62}$' }
  properties.driver = { description, anyOf: [{ enum: names }, own] } as Device['properties']['driver']
}

async function driverRule(name: (typeof driverNames)[number]): Promise<object> {
  const { settings } = await drivers[name]()
  return rule(name, { properties: { settings: jsonSchema(settings) }, required: ['transport'] })
}

function rule(driver: string, demand: object): object {
  return { if: { properties: { driver: { const: driver } }, required: ['driver'] }, then: demand }
}
