import { test } from 'tap'
import { mostUsedFirst, remedyIn, stepped, titled } from './forms.ts'

const params = {
  type: 'object',
  properties: {
    speed: { type: 'number', 'x-unit': 'rpm' },
    duration: { type: 'number', minimum: 1, maximum: 60, 'x-unit': 's' },
    direction: { enum: ['left', 'right'] },
    wells: { type: 'integer', enum: [96, 384], unit: 'wells' },
    gentle: { type: 'boolean' },
    note: { type: 'string' },
  },
  required: ['speed', 'duration'],
}
const operation = { name: 'shake', method: 'POST' as const, params, typical_seconds: 1, max_seconds: 2, can_end_early: false }

test('the most used operations come first, and the main ones among those that nobody has used', (t) => {
  const all = ['lock_plate', 'unlock_plate', 'set_temperature', 'shake'].map((name) => ({ name }))
  const names = (usage: { operation: string; times: number }[]) => mostUsedFirst(all, usage).map(({ name }) => name)
  t.same(names([]), ['shake', 'lock_plate', 'unlock_plate', 'set_temperature'])
  t.same(names([{ operation: 'set_temperature', times: 2 }]), ['shake', 'set_temperature', 'lock_plate', 'unlock_plate'])
  t.end()
})

test('the remedy that a refusal names is an operation without parameters that the device has', (t) => {
  const lock = { ...operation, name: 'lock_plate', params: {} }
  const heat = { ...operation, name: 'set_temperature', params: { required: ['temperature'] } }
  const remedy = (sentence: string, all = [operation, heat, lock]) => remedyIn(sentence, all)?.name
  t.equal(remedy('the plate is not locked; lock the plate first (lock_plate)'), 'lock_plate')
  t.equal(remedy('its plate is locked; unlock_plate first'), undefined, 'another operation')
  t.equal(remedy('it is cold; set_temperature first'), undefined, 'a value is needed')
  t.equal(remedy('the plate is not locked; lock_plate first', [operation]), undefined)
  t.end()
})

test('names are titles', (t) => {
  t.equal(titled('lock_plate'), 'Lock plate')
  t.end()
})

test('a step begins with what is typed, also with a comma, and with the least value where no number is typed', (t) => {
  const limits = { min: 50, max: 200, step: 0.1 }
  t.equal(stepped('165,5', 1, limits), '165.6')
  t.equal(stepped('165.5', -1, limits), '165.4')
  for (const none of ['', ' ', 'hot', '1e999']) t.equal(stepped(none, 1, limits), '50')
  t.equal(stepped('200', 1, limits), '200')
  t.equal(stepped('7', 1, {}), '8')
  t.end()
})
