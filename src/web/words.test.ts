import { test } from 'tap'
import type { RuntimeEvent } from '../clients/ts/benchd.ts'
import {
  actionTransitions,
  methodTransitions,
  submissionTransitions,
  threadTransitions,
  workflowTransitions,
} from '../workflow/state/statuses.ts'
import { eventSentence } from './event_words.ts'
import { runWord } from './run_words.ts'
import { valuesText } from './values_text.ts'
import {
  authorText,
  clockTime,
  duration,
  heatingPhase,
  longestName,
  onPage,
  outcomeOf,
  partWords,
  plainName,
  readingWords,
  sentence,
  threadWord,
  zonedTime,
} from './words.ts'

function event(entity_type: string, entity_id: string, status: string, context: Record<string, unknown> = {}): RuntimeEvent {
  return { event_name: `${entity_type}.${entity_id}.${status}`, execution_id: 'e', timestamp: 1, entity_type, entity_id, status, context }
}

test('values are JSON, each row of a plate on one line', (t) => {
  const text = '{\n  "absorbance": [\n    [0.1, null],\n    [0.2, "a, b"]\n  ],\n  "wells": [],\n  "unit": "[ OD ]"\n}'
  t.equal(
    valuesText({
      absorbance: [
        [0.1, null],
        [0.2, 'a, b'],
      ],
      wells: [],
      unit: '[ OD ]',
    }),
    text,
  )
  t.end()
})

/** Statuses of a submission that are no events. */
const recordOnly = new Set(['PENDING', 'IN_PROGRESS'])

test('an event is a sentence', (t) => {
  const named = { thread_name: 'plate', workflow_name: 'seal' }
  t.equal(eventSentence(event('DEVICE', 'shaker-1', 'FAULTED', { error: 'it jammed' })), 'shaker-1: it jammed')
  t.equal(eventSentence(event('DEVICE', 'shaker-1', 'FAULTED', { error: 'shaker-1 was stopped' })), 'shaker-1 was stopped.')
  t.equal(eventSentence(event('ACTION', 'a', 'PICKING', named)), 'plate is picked up.')
  t.equal(eventSentence(event('ACTION', 'a', 'COMPLETED', { ...named, action_name: 'shake' })), 'shake of plate is done.')
  t.equal(eventSentence(event('EXECUTION', 'e', 'ABORTED', { ...named, reason: 'no power' })), 'The run of seal was aborted: no power')
  t.equal(eventSentence(event('THREAD', 't', 'AWAITING_EVENT', named)), 'plate waits for an event.')
  t.equal(eventSentence(event('INCIDENT', 'i', 'RAISED', { message: 'The clock was set.' })), 'The clock was set.')
  t.equal(eventSentence(event('SLOT', 'plate:*', 'OVERFLOW', named)), 'plate: slot overflow')
  t.equal(eventSentence(event('CUSTOM', 'go', 'EMITTED')), 'The event go was emitted.')
  t.end()
})

test('every status that a run can come to is a sentence, with a subject, a verb and a full stop', (t) => {
  const named = { thread_name: 'plate', workflow_name: 'seal', method_name: 'seal_it', action_name: 'seal' }
  const tables = {
    ...{ ACTION: actionTransitions, METHOD: methodTransitions, THREAD: threadTransitions },
    ...{ WORKFLOW: workflowTransitions, SUBMISSION: submissionTransitions },
  }
  for (const [kind, table] of Object.entries(tables))
    for (const status of Object.keys(table).filter((status) => !(kind === 'SUBMISSION' && recordOnly.has(status))))
      t.match(
        eventSentence(event(kind, 'x', status, named)),
        / (is|was|has|waits|looks|failed|begins|runs|ended) ?.*\.$/,
        `${kind} ${status}`,
      )
  t.end()
})

test('times and durations are short', (t) => {
  t.same([duration(0), duration(65), duration(3725), duration(-3)], ['0:00', '1:05', '1:02:05', '0:00'])
  const noon = new Date(2026, 0, 5, 12, 0, 0).getTime() / 1000
  t.equal(clockTime(noon, noon + 60), '12:00:00')
  t.match(clockTime(noon, noon + 200_000), /^2026-01-05 12:00:00$/)
  const zone = process.env.TZ
  process.env.TZ = 'Europe/Berlin'
  const night = Date.parse('2026-01-05T00:30:00+01:00') / 1000
  t.equal(clockTime(night, night + 200_000), '2026-01-05 00:30:00', 'the day is that of the place, as the time is')
  if (zone === undefined) delete process.env.TZ
  else process.env.TZ = zone
  t.equal(threadWord('EXECUTING_ACTION'), 'is worked on')
  t.equal(threadWord('COMPLETED'), 'completed')
  t.end()
})

test('a decision about an error is called as its button is', (t) => {
  t.equal(sentence('the decision about plate is RETRY_OP at shaker-2'), 'The decision about plate is “Retry operation” at shaker-2.')
  t.equal(sentence('it jammed; possible decisions: RETRY, RETRY_OP, ABORT_THREAD'), 'It jammed.')
  t.same(
    [sentence('put it somewhere; then recover the thread'), sentence('then recover the thread that it holds with RETRY, which waits')],
    ['Put it somewhere; then choose one of the buttons in “Needs you”.', 'Then press “Retry”, which waits.'],
  )
  t.equal(
    sentence('recover the thread with one of the decisions; or have it done at b: RETRY with "on"'),
    'Choose one of the buttons in “Needs you”; or have it done at b: “Retry on …”.',
  )
  t.end()
})

test('a sentence of the API names the buttons and screens of the page', (t) => {
  const id = '0f4b3c52-9d1e-4f0e-8a37-5b1c2d3e4f50'
  t.equal(sentence('plate/ask is skipped'), 'plate/ask is skipped.')
  t.equal(sentence('shaker-1 is stopped; POST /api/devices/shaker-1/initialize'), 'shaker-1 is stopped; press “Initialize” of shaker-1.')
  t.equal(
    sentence(`there is no execution "x"; /api/executions shows what there is`),
    'There is no execution "x"; the screen Runs shows what there is.',
  )
  const full = 'shake of s has as many presets as it may have; delete one first: DELETE /api/devices/s/presets/shake/{preset}'
  t.equal(onPage(full), 'shake of s has as many presets as it may have; delete one first')
  t.equal(onPage(`look, and say where it is: PUT /api/labware/${id}/location`), 'look, and say where it is on the screen Deck')
  t.equal(onPage(`look, and say where it is (PUT /api/labware/${id}/location)`), 'look, and say where it is (on the screen Deck)')
  t.equal(
    onPage(`the transfer of P-1 was cut off; look, and say where it is (PUT /api/labware/${id}/location)`),
    'the transfer of P-1 was cut off; look, and say where it is (on the screen of that storage)',
  )
  t.equal(
    onPage('look, and correct the inventory (PUT /api/devices/incubator-1/inventory)'),
    'look, and correct the inventory (“Correct a slot” of incubator-1)',
  )
  t.equal(
    onPage(`take it away, and say so: PUT /api/labware/${id}/location {"position": null}`),
    'take it away, and say so on the screen Deck',
  )
  t.equal(onPage(`look, and say where it is (benchd labware put ${id} PLACE)`), 'look, and say where it is (on the screen Deck)')
  t.equal(onPage(`take it away, and say so: benchd labware put ${id} --off`), 'take it away, and say so on the screen Deck')
  t.equal(
    onPage(`POST /api/incidents/${id}/extend {"seconds": …}, /api/incidents/${id}/abort or /api/incidents/${id}/complete`),
    'press “More time”, “Abort call” or “Mark as done”',
  )
  t.equal(onPage('wait, or pass with a key of scope admin and X-Override: true'), 'wait, or ask an admin')
  t.equal(onPage('let an admin end the lease: DELETE /api/devices/d/lock with X-Override: true'), 'let an admin end the lease')
  t.equal(onPage('accept that: POST /api/devices/r-1/accept, then initialize'), 'accept that (“Accept” of r-1), then initialize')
  t.equal(onPage('not taught a (teach them: POST /api/teachpoints/bulk)'), 'not taught a (teach them on the screen Teach)')
  t.equal(onPage('it is on a journey already; /api/lab/journeys shows it'), 'it is on a journey already')
  t.equal(onPage('GET /api/system/doctor says what to do'), '“Run the doctor” on the screen System says what to do')
  t.equal(onPage(`held by execution ${id}`), 'held by execution 0f4b3c52')
  t.equal(sentence('resumed'), 'Resumed.')
  t.end()
})

test('readings have their units, and their targets where there are any', (t) => {
  const others = { pressure: { value: 900.5, target: 1000, unit: 'mbar' }, lamp_hours: { value: 12, target: null, unit: '' } }
  t.equal(readingWords({ at: 1, temperature: 36.96, target: 37 }), '37.0 °C, target 37 °C')
  t.equal(readingWords({ at: 1, temperature: null, target: null, others }), 'pressure 900.5 mbar, target 1000 mbar · lamp hours 12')
  t.end()
})

test('a run says how many of its threads wait for a person', (t) => {
  const run = { status: 'IN_PROGRESS', paused: null, ended_at: null, open_count: 3, needs_person_count: 0 } as const
  const wordOf = (its: Partial<Parameters<typeof runWord>[0]>) => runWord({ ...run, ...its }).word
  t.equal(wordOf({}), 'runs')
  t.equal(wordOf({ needs_person_count: 1 }), 'runs, 1 of 3 need a person')
  t.equal(wordOf({ needs_person_count: 3 }), 'needs a person')
  t.equal(wordOf({ needs_person_count: 3, paused: { at: 1, reason: 'manual' } }), 'paused')
  t.equal(wordOf({ status: 'COMPLETED', ended_at: 2, open_count: 0 }), 'completed')
  t.end()
})

test('the last outcome is a whole sentence, and a refusal names the buttons of the card', (t) => {
  const device_id = 'shaker-1'
  const last = (more: object) =>
    outcomeOf({ device_id, last_operation: { operation: 'shake', started: 1, ended: 2, detail: null, ...more } as never })
  t.equal(outcomeOf({ device_id, last_operation: null }), undefined)
  t.same(last({ result: { success: true, message: 'shaker-1 shook at 500 rpm for 5 s' } }), {
    text: 'Shook at 500 rpm for 5 s.',
    isBad: false,
    at: 2,
  })
  const detail = 'shaker-1: the plate is not locked (the lock is unlocked); lock the plate first (lock_plate)'
  t.same(last({ detail, reason: 'interlock' }), {
    text: 'Shake was refused: the plate is not locked (the lock is unlocked); lock the plate first.',
    isBad: true,
    at: 2,
  })
  t.match(last({ detail: 'shaker-1: its plate is not locked; lock_plate first', reason: 'device_failed', ended: null }), {
    text: 'Shake failed: its plate is not locked; “Lock plate” first.',
    at: 1,
  })
  t.end()
})

test('a card says how far a device has heated, and what is known of its door and its plate lock', (t) => {
  const heating = { target: 165, is_lowest: false }
  const at = (temperature: number | null) => ({ at: 1, temperature, target: null })
  t.equal(heatingPhase({ heating }, at(117.6)), 'heating, 118 of 165 °C')
  for (const reading of [at(164), at(null), undefined]) t.equal(heatingPhase({ heating }, reading), undefined)
  t.equal(heatingPhase({ heating: null }, at(20)), undefined)
  t.same(partWords({ type: 'shaker', parts: {} }), [])
  t.same(partWords({ type: 'shaker', parts: { plate_lock: 'locked', door: 'closed' } }), ['plate locked', 'closed'])
  t.same(partWords({ type: 'centrifuge', parts: { door: 'open' } }), ['door open'])
  t.end()
})

test('a moment has its zone in the tooltip', (t) => {
  t.match(zonedTime(1_800_000_000), /^2027-01-1[45] \d\d:\d\d:\d\d [+-]\d\d:\d\d, .+/)
  t.end()
})

test('a name has what the service takes: no control characters, no marks of direction, and not too many characters', (t) => {
  t.equal(plainName('  Żaneta 李\u202e\n\u0000 '), 'Żaneta 李')
  t.equal([...plainName('🧪'.repeat(100))].length, longestName)
  t.equal(authorText('tablet', 'Ann'), 'tablet, said to be Ann')
  t.equal(authorText('tablet', undefined), 'tablet')
  t.equal(authorText(null, undefined), 'nobody')
  t.end()
})
