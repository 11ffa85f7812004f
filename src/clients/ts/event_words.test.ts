import { test } from 'tap'
import type { RuntimeEvent } from './api.ts'
import { operatorWords } from './event_words.ts'

let now = 0

/** An event of the thread `plate`, a second after the one before it. */
function event(name: string, context: object = {}, later_s = 1): RuntimeEvent {
  now += later_s
  const [entity_type = '', entity_id = '', status = ''] = name.split('.')
  const members = { thread_id: 't', thread_name: 'plate', ...context }
  return { event_name: name, execution_id: 'run', timestamp: now, entity_type, entity_id, status, context: members } as RuntimeEvent
}

/** The sentences of events, in their order. */
function sentences(...events: RuntimeEvent[]): string[] {
  return events.flatMap(operatorWords())
}

test('steps, moves and values have a sentence with the barcode, and states of the engine have none', (t) => {
  const shake = { action_name: 'shake', device_id: 'shaker-1', labware: 'plate', barcode: 'P-17' }
  t.same(
    sentences(
      event('THREAD.t.CREATED'),
      event('METHOD.m.IN_PROGRESS'),
      event('ACTION.a.AWAITING_LOCATION_RESERVATION', { action_name: 'shake' }),
      event('ACTION.a.EXECUTING_ACTION', { ...shake, operation: 'shake', params: { speed: 500, duration: 5 } }),
      event('ACTION.a.COMPLETED', { ...shake, from: null, to: null }),
      event('ACTION.b.EXECUTING_ACTION', { action_name: 'emit' }),
      event('ACTION.c.COMPLETED', { action_name: null, device_id: 'arm-1', from: 'shaker_in', to: 'reader_in', barcode: 'P-17' }),
      event('ACTION.d.EXECUTING_ACTION', { device_id: 'reader-1', operation: 'read', params: { wavelength: 450 }, action_name: 'read it' }),
      event('ACTION.d.COMPLETED', { device_id: 'reader-1', from: null, values: [{ name: 'absorbance', unit: 'AU', value: 0.43 }] }),
      event('ACTION.e.EXECUTING_ACTION', { device_id: 'shaker-1', operation: 'set_temperature', params: { temperature: null } }),
      event('THREAD.t.COMPLETED'),
    ),
    [
      'plate P-17: shaking on shaker-1, 500 rpm, 5 s',
      'plate P-17: moved from shaker_in to reader_in by arm-1',
      'plate P-17: read on reader-1, wavelength 450',
      'plate P-17: reader-1 gave absorbance 0.43 AU',
      'plate P-17: switching the heater of shaker-1 off',
      'plate P-17: done',
    ],
  )
  t.end()
})

test('a step of a service of an earlier version has its name, and a step without a device has no sentence', (t) => {
  t.same(sentences(event('ACTION.a.EXECUTING_ACTION', { action_name: 'shake' })), [])
  t.same(sentences(event('ACTION.a.EXECUTING_ACTION', { action_name: 'stir', device_id: 'shaker-1' })), ['plate: stir on shaker-1'])
  t.end()
})

test('a long wait has a sentence when it ends, and a short one has none', (t) => {
  const waiting = event('ACTION.a.AWAITING_LOCATION_RESERVATION')
  t.same(sentences(waiting, event('ACTION.a.RESOLVED', {}, 4)), [])
  const again = event('ACTION.a.AWAITING_LOCATION_RESERVATION')
  t.same(sentences(again, event('ACTION.b.CREATED', {}, 10), event('ACTION.a.RESOLVED', {}, 10)), ['plate: waited 20 s for a device'])
  t.end()
})

test('the message of an incident is not repeated by the thread that it holds', (t) => {
  const error = 'sealer-1 reports error 12'
  const [incident, paused] = [
    event('INCIDENT.i.RAISED', { message: `seal failed: ${error}` }),
    event('THREAD.t.PAUSED', { last_error: error }),
  ]
  const sentenceOfIt = event('THREAD.t.PAUSED', { last_error: `${error}.` })
  t.same(sentences(incident, sentenceOfIt), [`incident: seal failed: ${error}`, 'plate: waits for a decision'])
  t.same(sentences(incident, paused), [`incident: seal failed: ${error}`, 'plate: waits for a decision'])
  t.same(sentences(paused), [`plate: waits for a decision: ${error}`])
  t.same(sentences(event('THREAD.t.PAUSED', { pause_reason: 'manual', last_error: null })), ['plate: paused'])
  t.end()
})

test('faults of devices outside of runs, and events that a client fires, have a sentence', (t) => {
  const fault = { error: 'shaker-1 is silent', execution_id: null }
  t.same(sentences(event('DEVICE.shaker-1.FAULTED', fault)), ['shaker-1 is silent'])
  t.same(sentences(event('DEVICE.shaker-1.FAULTED', { ...fault, execution_id: 'run' })), [])
  const stop = { error: 'shaker-1 was stopped', error_type: 'Stopped', execution_id: 'run' }
  t.same(sentences(event('DEVICE.shaker-1.FAULTED', stop)), ['shaker-1 was stopped'])
  t.same(sentences(event('DEVICE.shaker-1.STOPPED', { by: 'tablet, said to be Kim' })), ['shaker-1: stopped by tablet, said to be Kim'])
  t.same(sentences(event('FRIDGE.f1.OPEN')), ['f1: fridge open'])
  t.same(sentences(event('EXECUTION.run.ABORTED', { workflow_name: 'spin', reason: 'stopped' })), ['spin: the run is ABORTED: stopped'])
  t.end()
})
