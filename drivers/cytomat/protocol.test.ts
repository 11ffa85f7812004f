import { test } from 'tap'
import * as v from 'valibot'
import { addressOf, settings } from './models.ts'
import { parseClimate, parseOverview, parseSpeed, parseTaken, registerOf, signature } from './protocol.ts'

test('the overview register is read bit by bit', (t) => {
  const none = { station: false, handler: false, doorOpen: false, gateOpen: false, error: false, warning: false, ready: false, busy: false }
  t.same(parseOverview('bs 00'), none)
  for (const [line, bit] of [
    ['bs 80', 'station'],
    ['bs 40', 'doorOpen'],
    ['bs 20', 'gateOpen'],
    ['bs 10', 'handler'],
    ['bs 08', 'error'],
    ['bs 04', 'warning'],
    ['bs 02', 'ready'],
    ['bs 01', 'busy'],
  ] as const)
    t.same(parseOverview(line), { ...none, [bit]: true }, line)
  t.match(parseOverview('bs c5'), { station: true, doorOpen: true, warning: true, busy: true, ready: false, handler: false })
  for (const other of ['be 80', 'bs 8', 'bs 800', 'bs', 'ok 80', 'ch:bs', 'bs xx']) t.equal(parseOverview(other), undefined, other)
  t.end()
})

test('each answer has a form of its own', (t) => {
  t.equal(registerOf('be 0A', 'be'), 10)
  t.equal(registerOf('bs 0A', 'be'), undefined)
  t.same(parseClimate('it +37.0 +36.8', 'it'), { target: 37, actual: 36.8 })
  t.same(parseClimate('it -5.0 4', 'it'), { target: -5, actual: 4 })
  for (const other of ['ih +37.0 +36.8', 'it +37.0', 'it', 'it a b']) t.equal(parseClimate(other, 'it'), undefined, other)
  t.equal(parseSpeed('pb 0500'), 500)
  t.equal(parseSpeed('pb 20 0500'), 500)
  t.equal(parseSpeed('bs 05'), undefined)
  t.equal(parseTaken('ok 81'), null)
  t.equal(parseTaken('ok'), null)
  t.equal(parseTaken('er 1F'), 0x1f)
  for (const other of ['er', 'er 1', 'ok 1', 'bs 01', 'ch:bs']) t.equal(parseTaken(other), undefined, other)
  t.match('bs 82\r', signature)
  t.notMatch('ok 82\r', signature)
  t.end()
})

test('a slot has the address that its model wants', (t) => {
  const racks = [{ slots: 21 }, { slots: 10 }]
  const absolute = v.parse(settings, { racks })
  t.equal(addressOf(absolute, 1), '001')
  t.equal(addressOf(absolute, 31), '031')
  t.equal(addressOf(absolute, 32), undefined)
  const byRack = v.parse(settings, { racks, model: 'Cytomat 2 C425' })
  t.equal(addressOf(byRack, 1), '00 00')
  t.equal(addressOf(byRack, 22), '01 00')
  t.equal(addressOf(byRack, 31), '01 09')
  t.end()
})
