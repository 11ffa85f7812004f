import { test } from 'tap'
import { isMotor, isOutcome, parse, signature } from './protocol.ts'

test('each line of the reader is what it stands for', (t) => {
  for (const [line, said] of [
    ['MOTORON', { kind: 'motor', isOn: true }],
    ['MOTOROFF', { kind: 'motor', isOn: false }],
    ['ERROR', { kind: 'nothing' }],
    ['NG', { kind: 'off' }],
    ['ERR99', { kind: 'error', number: 99 }],
    ['ERR100', { kind: 'code', barcode: 'ERR100' }],
    ['4006381333931', { kind: 'code', barcode: '4006381333931' }],
    ['01\x1d10', { kind: 'code', barcode: '01\x1d10' }],
    ['\x02PLATE 1\x03', { kind: 'code', barcode: 'PLATE 1' }],
    ['a\x07b', undefined],
    ['\xd0\xfe', undefined],
  ] as const)
    t.same(parse(line), said, line)
  t.same([isMotor('MOTORON'), isMotor('NG'), isOutcome('NG'), isOutcome('MOTORON'), isOutcome('\xff')], [true, false, true, false, false])
  t.same([signature.test('RMOTOR\r'), signature.test('MOTORON\r'), signature.test('x MOTORON\r')], [false, true, false])
  t.end()
})
