import { test } from 'tap'
import { answers, codedError, encode, encodeCrLf, nextAnswer, numberOf, wordOf } from './opentrons_lines.ts'

test('a code ends in LF', (t) => {
  t.equal(Buffer.from(encode('M3 S500')).toString('hex'), '4d3320533530300a')
  t.equal(Buffer.from(encodeCrLf('M18')).toString('hex'), '4d31380d0a')
  t.end()
})

test('an answer bears its code and ends in OK', (t) => {
  t.ok(answers('M3 OK', 'M3 S500'))
  t.ok(answers('M123 C:500 T:500 OK', 'M123'))
  t.notOk(answers('M105 C:25.00 T:None OK', 'M104 S37'))
  t.notOk(answers('M123 C:500 T:500', 'M123'))
  t.notOk(answers('M241 STATUS:IDLE_OPEN OK', 'M24'))
  t.end()
})

test('values are found by their keys', (t) => {
  const version = 'M115 FW:v1.0.5 HW:A SerialNo:HSV01 OK'
  t.equal(wordOf(version, 'SerialNo'), 'HSV01')
  t.equal(wordOf(version, 'X'), undefined)
  t.equal(numberOf('M105 C:25.00 T:None OK', 'C'), 25)
  t.equal(numberOf('M105 C:25.00 T:None OK', 'T'), undefined)
  t.end()
})

test('an error is known with an OK at its end and without', (t) => {
  t.same(codedError('ERR126:main motor:plate lock not closed (required) OK'), { numbers: [126], isUnasked: false })
  t.same(codedError('ERR003:unhandled gcode'), { numbers: [3], isUnasked: false })
  t.same(codedError('async ERR203:heater:thermistor a overtemp OK'), { numbers: [203], isUnasked: true })
  t.same(codedError('async ERR111:main motor:unable to move'), { numbers: [111], isUnasked: true })
  t.equal(codedError('M3 OK'), undefined)
  t.end()
})

/** All frames in a text, and the characters that belong to none. */
function framesIn(text: string): { frames: string[]; left: string } {
  let buffer = Buffer.from(text, 'latin1')
  const frames: string[] = []
  for (let found = nextAnswer(buffer); found; found = nextAnswer(buffer)) {
    if (found.frame !== undefined) frames.push(found.frame)
    buffer = buffer.subarray(found.used)
    if (buffer.length === 0) break
  }
  return { frames, left: buffer.toString('latin1') }
}

test('an answer of plain firmware is one frame with its two ok, and an answer of coded firmware is a line', (t) => {
  t.same(framesIn('T:none C:22.000\r\nok\r\nok\r\nok\r\nok\r\n'), { frames: ['T:none C:22.000 ok', 'ok'], left: '' })
  t.same(framesIn('M18 OK\nasync ERR224:Lid thermistor overtemp OK\nM141 T:none C:22.00 OK\n'), {
    frames: ['M18 OK', 'async ERR224:Lid thermistor overtemp OK', 'M141 T:none C:22.00 OK'],
    left: '',
  })
  t.end()
})

test('what comes by itself is a frame of its own, and half an answer is none', (t) => {
  const warning = 'Temperature module overheated! Deactivating.'
  t.same(framesIn(`${warning}\r\nT:none C:99.500\r\nok\r\nok\r\n`).frames, [warning, 'T:none C:99.500 ok'])
  t.same(framesIn('T:none C:22.000\r\nok\r\n'), { frames: [], left: 'T:none C:22.000\r\nok\r\n' }, 'the second ok is missing')
  t.same(framesIn('T:none C:22.000\r\nLid:open\r\nok\r\nok\r\n').frames, ['Lid:open ok'], 'values without ok are skipped')
  t.same(framesIn('ok\r\nLid:open\r\nok\r\nok\r\n').frames, ['Lid:open ok'], 'so is a single ok')
  t.end()
})
