// Discovery messages fit the schema of Home Assistant: homeassistant/components/mqtt/schemas.py, sensor.py, binary_sensor.py and button.py of its repository,
// from which the members and words below are taken. Home Assistant refuses a message with a member that it does not know.

import { test } from 'tap'
import * as v from 'valibot'
import { benchDiscovery, discoveryOf, readingsIn } from './discovery.ts'

/** A topic without wildcards. */
const Topic = v.pipe(v.string(), v.regex(/^[^+#\0]{1,65535}$/))
const Text = v.pipe(v.string(), v.nonEmpty())
const Template = v.pipe(v.string(), v.regex(/^\{\{ .+ \}\}$/))
const Url = v.pipe(v.string(), v.regex(/^(https?|homeassistant):\/\//))
const Entity = { unique_id: Text, name: v.optional(Text), icon: v.optional(v.pipe(v.string(), v.regex(/^mdi:/))) }
const Sensor = v.strictObject({
  platform: v.literal('sensor'),
  ...Entity,
  state_topic: Topic,
  value_template: v.optional(Template),
  unit_of_measurement: v.optional(Text),
  device_class: v.optional(v.picklist(['temperature', 'humidity', 'weight', 'carbon_dioxide', 'duration'])),
  state_class: v.optional(v.picklist(['measurement', 'total', 'total_increasing'])),
})
const Problem = v.strictObject({
  platform: v.literal('binary_sensor'),
  ...Entity,
  state_topic: Topic,
  value_template: v.optional(Template),
  device_class: v.optional(v.picklist(['problem', 'running', 'heat'])),
})
const Button = v.strictObject({ platform: v.literal('button'), ...Entity, command_topic: Topic })
const Discovery = v.strictObject({
  device: v.strictObject({
    identifiers: v.pipe(v.array(Text), v.minLength(1)),
    name: v.optional(Text),
    manufacturer: v.optional(Text),
    model: v.optional(Text),
    serial_number: v.optional(Text),
    sw_version: v.optional(Text),
    hw_version: v.optional(Text),
    configuration_url: v.optional(Url),
    via_device: v.optional(Text),
  }),
  origin: v.strictObject({ name: Text, sw_version: v.optional(Text), support_url: v.optional(Url) }),
  availability_topic: v.optional(Topic),
  payload_available: v.optional(Text),
  payload_not_available: v.optional(Text),
  components: v.record(v.pipe(v.string(), v.regex(/^[A-Za-z0-9_-]+$/)), v.variant('platform', [Sensor, Problem, Button])),
})

/** The units that Home Assistant takes for these device classes (sensor/const.py). */
const unitsOf: Record<string, string[]> = {
  temperature: ['°C', '°F', 'K'],
  humidity: ['%'],
  weight: ['kg', 'g', 'mg', 'µg'],
  duration: ['d', 'h', 'min', 's', 'ms'],
}

const bench = { system_id: 'bench-1', version: '0.3.0', url: 'http://bench-1.local:8520/', topic: 'benchd/bench-1', hasCommands: true }
const device = { device_id: 'shaker-1', name: 'Plate shaker', type: 'shaker', driver: 'bioshake', identity: null }

test('each message fits, with commands and without, with readings and without', (t) => {
  const readings = readingsIn({
    at: 1,
    temperature: 37,
    target: null,
    others: {
      humidity: { value: 80, target: null, unit: '%' },
      co2: { value: 5, target: 5, unit: '%' },
      weight: { value: 1.5, target: null, unit: 'g' },
      'flow rate/1': { value: 1, target: null, unit: 'ml/min' },
    },
  })
  const identity = { model: 'Q1', serial_number: '17', firmware_version: '1.8.02' }
  for (const hasCommands of [true, false]) {
    for (const url of [bench.url, undefined]) {
      const its = { ...bench, hasCommands, url }
      const messages = [
        benchDiscovery(its),
        discoveryOf(its, device, []),
        discoveryOf(its, { ...device, identity }, readings),
        discoveryOf(its, { ...device, identity: { model: null, serial_number: null, firmware_version: null } }, readings),
      ]
      for (const message of messages) {
        const { success, issues } = v.safeParse(Discovery, JSON.parse(JSON.stringify(message)))
        t.ok(success, JSON.stringify(issues?.map(({ message, path }) => [message, path?.map(({ key }) => key)])))
        const { components } = message as v.InferOutput<typeof Discovery>
        t.equal('stop' in components, hasCommands)
        for (const one of Object.values(components))
          if (one.platform === 'sensor' && one.device_class)
            t.ok(unitsOf[one.device_class]!.includes(one.unit_of_measurement!), one.name ?? '')
      }
    }
  }
  t.end()
})

test('readings are entities with their units, by names that Home Assistant takes', (t) => {
  t.same(readingsIn({ at: 1, temperature: null, target: null }), [])
  const [reading] = readingsIn({ temperature: null, others: { 'flow "1"': { value: 1, target: null, unit: 'ml/min' } } })
  t.same(reading, { name: 'flow__1_', path: 'value_json.others["flow \\"1\\""].value', unit: 'ml/min' })
  const { components } = discoveryOf(bench, device, [reading!]) as { components: Record<string, object> }
  t.match(components['flow__1_'], { name: 'Flow  1 ', unit_of_measurement: 'ml/min', state_class: 'measurement' })
  t.end()
})
