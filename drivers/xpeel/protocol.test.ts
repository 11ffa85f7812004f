import { test } from 'tap'
import { inWords } from '../reported.ts'
import { errorTable } from './errors.ts'
import { beginsUnasked, errorsOf, isAck, isNotice, isVersion, nextAnswer, peel, readyCodes } from './protocol.ts'

test('a peel is two digits', (t) => {
  t.equal(peel(4, 1), '*xpeel:41')
  t.end()
})

test('an acknowledgement may have a colon', (t) => {
  t.ok(isAck('*ack'))
  t.ok(isAck('*ack:'))
  t.notOk(isAck('*ready:00,00,00'))
  t.end()
})

test('three codes are read from a ready line, and from no other', (t) => {
  t.same(readyCodes('*ready:06,01,00'), [6, 1, 0])
  t.equal(readyCodes('*ready:6,1'), undefined)
  t.equal(readyCodes('*tape:11,13'), undefined)
  t.end()
})

test('only errors are put in words', (t) => {
  t.equal(inWords(errorTable, errorsOf([20, 21, 0])), '')
  t.equal(inWords(errorTable, errorsOf([20, 4, 0])), 'code 04 (the seal was not removed)')
  t.equal(inWords(errorTable, errorsOf([1, 77, 0])), 'code 01 (the conveyor stalled) and code 77 (its meaning is not known to benchd)')
  t.end()
})

test('what is done at its panel is told from what is answered', (t) => {
  t.ok(beginsUnasked('*manual:out') && beginsUnasked('*poweron') && beginsUnasked('*homing'))
  t.ok(isNotice('*xpeel') && isNotice('*setup:3'))
  t.notOk(isNotice('*xpeel:41'))
  t.notOk(isVersion('*ready:00,00,00'))
  t.ok(isVersion('*version 3.1'))
  t.end()
})

test('a line of noise is skipped, and the one after it is read', (t) => {
  t.same(nextAnswer(Buffer.from('\xd5\x80\r\n*ack\r\n', 'latin1')), { used: 3 })
  t.same(nextAnswer(Buffer.from('*ack\r\n')), { used: 5, frame: '*ack' })
  t.equal(nextAnswer(Buffer.from('*ac')), undefined)
  t.end()
})
