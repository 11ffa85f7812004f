import { test } from 'tap'
import { inWords } from '../reported.ts'
import { errorTable } from './errors.ts'
import { errorCodes, isErrorList, isNumber, isRefusal, isStateName, isText, isUnknown, line } from './protocol.ts'

const hex = (text: string) => Buffer.from(text.replaceAll(' ', ''), 'hex')

test('a line ends with CRLF', async (t) => {
  t.same(line(hex('6f 6b 0d 0a')), { used: 4, frame: 'ok' })
})

test('a line that ends with LF alone is taken too', async (t) => {
  t.same(line(hex('6f 6b 0a')), { used: 3, frame: 'ok' })
})

test('there is no line before its LF has come', async (t) => {
  t.equal(line(hex('6f 6b 0d')), undefined)
})

test('only the first line is taken, the next stays', async (t) => {
  t.same(line(hex('33 0d 0a 6f 6b 0d 0a')), { used: 3, frame: '3' })
})

test('an empty line is skipped', async (t) => {
  t.same(line(hex('0d 0a 6f 6b 0d 0a')), { used: 2 })
})

test('each byte is one character, above 7F too', async (t) => {
  t.same(line(hex('32 35 b0 43 0d 0a')), { used: 6, frame: '25\u00b0C' })
})

test('numbers come with decimals and without', async (t) => {
  for (const text of ['1000', '1000.0', '-5.5', '0']) t.ok(isNumber(text), text)
  for (const text of ['', 'ok', 'e', '1e3', '0x10', '10 00', '10.', 'NaN', '{}', '12345678']) t.notOk(isNumber(text), text)
})

test('a refusal is an e by itself, not any word that begins so', async (t) => {
  t.ok(isRefusal('e'))
  t.notOk(isRefusal('error'))
})

test('an unknown command is named in the answer', async (t) => {
  t.ok(isUnknown('u -> getElmState', 'getElmState'))
  t.notOk(isUnknown('u -> getElmState', 'getShakeState'))
})

test('errors are read with and without spaces, and none at all', async (t) => {
  t.same(errorCodes('{101; 304}'), [101, 304])
  t.same(errorCodes('{102;210}'), [102, 210])
  t.same(errorCodes('{}'), [])
  for (const text of ['{}', '{101}', '{101; 304}']) t.ok(isErrorList(text), text)
  for (const text of ['', '101', '{ok}', '{101', '{1;}']) t.notOk(isErrorList(text), text)
})

test('an error says in words what it is, or at least what it is about', async (t) => {
  t.equal(inWords(errorTable, [102]), 'error 102 (wrong speed: something blocks the motion)')
  t.equal(inWords(errorTable, [34120]), 'error 34120 (a fan is stalled)')
  t.equal(inWords(errorTable, [7]), 'error 7 (its meaning is not known to benchd)')
})

test('no answer of another kind is taken for a text', async (t) => {
  for (const text of ['BIOSHAKE 3000-T elm', 'v1.8.02', '12345', 'ColdPlate']) t.ok(isText(text), text)
  for (const text of ['ok', 'e', 'u -> version', '{}', 'aligned', '\u00ff\u00fe\u00fd']) t.notOk(isText(text), text)
})

test('the name of a state is no number, no ok and no refusal', async (t) => {
  for (const text of ['RUN', 'RAMP+', 'dec_stop_home', 'aligned']) t.ok(isStateName(text), text)
  for (const text of ['ok', 'e', '3', '25.0', '{}', 'u -> x']) t.notOk(isStateName(text), text)
})
