import { test } from 'tap'
import { checkCharacter, codes, encode, forceOf, framer, hatchOf, rotorOf, rpmOf, stateOf } from './protocol.ts'

const latin1 = (text: string) => Buffer.from(text, 'latin1')

// The example of the manual: the rotor position 4 of 6 is set, at the address T.
test('a setting ends with the exclusive or of its bytes behind STX', async (t) => {
  t.same(encode({ code: codes.target, value: 0x0604 }, 'T'), latin1('\x04T\x0200524=0604\x03\x0f'))
  t.equal(checkCharacter(latin1('00528=1800\x03')), 0x08)
})

test('a question is address, number and ENQ', async (t) => {
  t.same(encode({ code: codes.state }, ']'), latin1('\x04]00634\x05'))
})

const find = framer('T')

test('an acknowledgement, a refusal and a value are found, also behind noise', async (t) => {
  t.same(find(latin1('T\x06')), { used: 2, frame: { acknowledged: true } })
  t.same(find(latin1('T\x15')), { used: 2, frame: { acknowledged: false } })
  t.same(find(latin1('T\x0200634=0162\x03\x0a')), { used: 14, frame: { code: '00634', value: 0x0162 } })
  t.same(find(latin1('xxT\x06')), { used: 2 })
  t.equal(find(latin1('T')), undefined)
  t.equal(find(latin1('T\x0200634=01')), undefined)
})

test('a damaged value is none, and a value that was cut off does not swallow the next reply', async (t) => {
  t.same(find(latin1('T\x0200634=0163\x03\x0a')), { used: 1 })
  t.same(find(latin1('T\x0200634=T\x06')), { used: 8 })
})

test('the states of the manual are read', async (t) => {
  t.same(stateOf(0x0162), { phase: 'standstill', mayNotStart: false, error: null })
  t.match(stateOf(0x8b10), { phase: 'braking', error: 11 })
  t.match(rotorOf(0x0292), { isRemote: true, lidClosed: true, number: 9, hasRotor: true })
  t.match(hatchOf(0x2006), { isOpen: true, isInPosition: true, isMoving: false })
  t.match(hatchOf(0x2003), { isOpen: true, isInPosition: false, rotorMoves: true })
  t.match(hatchOf(0x2500), { isOpen: false, isMoving: true })
  t.match(hatchOf(0x1800), { isClosed: true, isOpen: false })
})

test('a force and its speed belong together', async (t) => {
  t.equal(rpmOf(18_327, 97), 13_000)
  t.equal(Math.round(forceOf(4000, 160)), 2862)
})
