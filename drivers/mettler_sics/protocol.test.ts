import { test } from 'tap'
import { answers, faultIn, modelIn, parseWeight, signature, statusOf, textOf } from './protocol.ts'

test('an answer with a weight gives value, unit and whether it is stable', (t) => {
  for (const [line, shown] of [
    ['S S     100.00 g', { value: 100, unit: 'g', stable: true }],
    ['S D   -12.3456 g', { value: -12.3456, unit: 'g', stable: false }],
    ['S D -  12.3456 g', { value: -12.3456, unit: 'g', stable: false }],
    ['S S      0.500 kg', { value: 0.5, unit: 'kg', stable: true }],
    ['S S        253 PCS', { value: 253, unit: 'PCS', stable: true }],
    ['TA A     0.0000 g', { value: 0, unit: 'g', stable: true }],
    ['S S          1.', { value: 1, unit: '', stable: true }],
  ] as const)
    t.same(parseWeight(line), shown, line)
  for (const line of ['S I', 'S +', 'S S Error 10b', 'S S 1.2.3 g', 'I4 A "1"', 'S S   g', 'ES', 'S S 1 2 g'])
    t.equal(parseWeight(line), undefined, line)
  t.end()
})

test('each status is told, with the answers that any command can have', (t) => {
  const lines = ['S S 1 g', 'S I', 'T +', 'Z -', 'Z A', 'S L', 'ES', 'ET', 'EL', 'S X', 'S']
  t.same(lines.map(statusOf), ['S', 'I', '+', '-', 'A', 'L', 'ES', 'ET', 'EL', 'unknown', 'unknown'])
  t.same(['T S 1 g', 'TA A 1 g', 'TI S', 'S S 1 g', 'ES', 'T +'].map(answers('T')), [true, false, false, false, true, true])
  t.end()
})

test('texts stand in quotes, and a fault in place of a weight', (t) => {
  t.equal(textOf('I4 A "B021002593"'), 'B021002593')
  t.equal(textOf('I4 A ""'), undefined)
  t.equal(textOf('I4 I'), undefined)
  t.equal(modelIn('I2 A "XS204 Excellence 220.0090 g"'), 'XS204 Excellence')
  t.equal(modelIn('I2 A "WXS205SDU WXA-Bridge 220.00900 g"'), 'WXS205SDU WXA-Bridge')
  t.same(['S S Error 10b', 'S S    Error 15t', 'S S 10 g'].map(faultIn), [10, 15, undefined])
  t.same([signature.test('I4 A "1"'), signature.test('I4'), signature.test('x\r\nI4 A "1"\r\n')], [true, false, true])
  t.end()
})
