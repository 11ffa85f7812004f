import { test } from 'tap'
import { encode, isFirmware, isModel, isSerialNumber, parse, signature } from './protocol.ts'

test('a command stands behind an escape', (t) => {
  t.equal(Buffer.from(encode('x1_')).toString('hex'), '1b78315f0d0a')
  t.end()
})

test('lines of 16 and 22 characters give value, unit and whether it is stable', (t) => {
  for (const [line, shown] of [
    ['+   123.56 g  ', { value: 123.56, unit: 'g', stable: true, step: 0.01 }],
    ['+   123.5[6]g ', { value: 123.56, unit: 'g', stable: true, step: 0.01 }],
    ['-     0.25 mg ', { value: -0.25, unit: 'mg', stable: true, step: 0.01 }],
    ['     0.0000 g  ', { value: 0, unit: 'g', stable: true, step: 0.0001 }],
    ['+      253 pcs', { value: 253, unit: 'pcs', stable: true, step: 1 }],
    ['+   123.56    ', { value: 123.56, unit: '', stable: false, step: 0.01 }],
    ['N     +   123.56 g  ', { value: 123.56, unit: 'g', stable: true, step: 0.01 }],
    ['G#    +  1 234.5 kg ', { value: 1234.5, unit: 'kg', stable: true, step: 0.1 }],
    ['N     -   123.56    ', { value: -123.56, unit: '', stable: false, step: 0.01 }],
    ['Qnt   +      12 pcs', { value: 12, unit: 'pcs', stable: true, step: 1 }],
  ] as const) {
    const said = parse(line)
    if (said?.kind !== 'value') t.fail(line)
    else t.match({ ...said, step: Number(said.step.toFixed(6)) }, shown, line)
    if (/[+-]/.test(line) && !line.includes('[')) t.ok(signature.test(`${line}\r`), `${line} is signed`)
  }
  t.end()
})

test('each status is told, with and without an identifier', (t) => {
  for (const [line, said] of [
    ['Stat        High', { kind: 'overload' }],
    ['      High    ', { kind: 'overload' }],
    ['H', { kind: 'overload' }],
    ['Stat        Low', { kind: 'underload' }],
    ['      L', { kind: 'underload' }],
    ['Stat      Cal. Ext.', { kind: 'busy' }],
    ['Stat        --', { kind: 'busy' }],
    ['Stat       OFF', { kind: 'off' }],
    ['Stat     ERR 055', { kind: 'error', number: 55 }],
    ['  ERR  11', { kind: 'error', number: 11 }],
    ['Stat     APP.ERR', { kind: 'failed', word: 'APP.ERR' }],
    ['ENTRIS224-1S', undefined],
    ['34309393', undefined],
    ['00-37-09', undefined],
    ['\x1bP', undefined],
    ['u -> IN_PV_4', undefined],
    ['+', undefined],
  ] as const)
    t.same(parse(line), said, line)
  t.end()
})

test('model, serial number and firmware have forms of their own', (t) => {
  const lines = ['ENTRIS224-1S', 'SIWADCP-1-', 'MSE 225S', '34309393', '00-37-09', 'N     +   123.56 g', 'Stat        High']
  t.same(lines.map(isModel), [true, true, true, false, false, false, false])
  t.same(lines.map(isSerialNumber), [false, false, false, true, false, false, false])
  t.same(lines.map(isFirmware), [false, false, false, false, true, false, false])
  t.end()
})
