import { test } from 'tap'
import { inWords } from '../reported.ts'
import { errorTableOf } from './errors.ts'
import { alpsModels, ultrasealModels } from './models.ts'
import {
  heatTo,
  isDone,
  isErrorNumber,
  isRefused,
  isStatus,
  isTemperature,
  isVersion,
  nextAnswer,
  readStatus,
  sealFor,
} from './protocol.ts'

test('temperatures have three digits and times two', (t) => {
  t.same([5, 160].map(heatTo), ['A005', 'A160'])
  t.same([0.5, 2.5, 9.9].map(sealFor), ['B05', 'B25', 'B99'])
  t.end()
})

test('the question is cut off as a prefix, not letter by letter', (t) => {
  const read = (text: string, question?: string) => nextAnswer(Buffer.from(text), question)
  t.same(read('A160ok\r', 'A160'), { used: 7, frame: 'ok' })
  t.same(read('ok\r', 'A160'), { used: 3, frame: 'ok' })
  t.same(read('?08\r', '?'), { used: 4, frame: '08' })
  t.same(read('A160\r', 'A160'), { used: 5 })
  t.same(read('101\r', 'A110'), { used: 4, frame: '101' })
  t.end()
})

test('each kind of answer has a shape of its own, but for a status and an error', (t) => {
  const kinds = { isStatus, isErrorNumber, isTemperature, isDone, isRefused, isVersion }
  const of = (answer: string) =>
    Object.entries(kinds)
      .filter(([, is]) => is(answer))
      .map(([name]) => name)
  t.same(of('08'), ['isStatus', 'isErrorNumber'])
  t.same(of('fF'), ['isStatus'])
  t.same(of('165'), ['isTemperature'])
  t.same(of('ok'), ['isDone'])
  t.same(of('err'), ['isRefused'])
  t.same(of('syntax error'), ['isRefused'])
  t.same(of('V1.00'), ['isVersion'])
  t.end()
})

test('a bit means what it means in its model', (t) => {
  t.same([...readStatus('08', alpsModels['3000'])], ['cold'])
  t.same([...readStatus('01', alpsModels['3000'])], ['no_foil'])
  t.same([...readStatus('01', alpsModels['300'])], ['busy'])
  t.same([...readStatus('20', alpsModels['5000'])], ['not_ready'])
  t.same([...readStatus('20', ultrasealModels['XT Pro'])], ['low_air'])
  t.same([...readStatus('40', ultrasealModels['XT Pro'])], ['parked'])
  t.same([...readStatus('80', ultrasealModels.PRO)], ['parked'])
  t.end()
})

test('an error means what it means in its model, if that is known', (t) => {
  t.equal(inWords(errorTableOf(alpsModels['3000']), [7]), 'error 7 (thermocouple failed)')
  t.equal(inWords(errorTableOf(alpsModels['5000']), [7]), 'error 7 (foil out or stuck)')
  t.equal(inWords(errorTableOf(ultrasealModels.XT), [7]), 'error 7 (its meaning is not known to benchd)')
  t.end()
})
