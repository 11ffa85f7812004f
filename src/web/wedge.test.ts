import { test } from 'tap'
import { fieldFor, type ScanField, Wedge } from './wedge.ts'

/** Types keys one after the other, so many ms apart, and returns the last answer. */
function typed(keys: readonly string[], apart_ms: number, wedge = new Wedge()): string | undefined {
  return keys.map((key, i) => wedge.key(key, 1000 + i * apart_ms)).at(-1)
}

test('quick keystrokes that end in Enter are a scan', async (t) => {
  t.equal(typed([...'P-0041', 'Enter'], 5), 'P-0041')
  t.equal(typed(['Shift', 'P', '-', '1', 'Shift', 'A', 'Enter'], 20), 'P-1A', 'the keys of modifiers come between')
  t.equal(typed([...' 12345 ', 'Enter'], 5), '12345')
})

test('a person who types, a short code and Enter alone are none', async (t) => {
  t.equal(typed([...'P-0041', 'Enter'], 150), undefined)
  t.equal(typed(['4', '2', 'Enter'], 5), undefined)
  t.equal(typed(['Enter'], 5), undefined)
})

test('a scan begins anew after a pause and after Enter', async (t) => {
  const wedge = new Wedge()
  typed([...'abc'], 5, wedge)
  t.equal([...'P-1', 'Enter'].map((key, i) => wedge.key(key, 9000 + i)).at(-1), 'P-1')
  t.equal(wedge.key('Enter', 9010), undefined, 'a scan is taken once')
})

test('the field that wants a barcode gets it, else one that takes any', async (t) => {
  const field = (wants: string | undefined): ScanField => ({ wants, take: () => {} })
  const [p1, p2, any] = [field('P-1'), field('P-2'), field(undefined)]
  t.equal(fieldFor('P-2', [p1, any, p2]), p2)
  t.equal(fieldFor('P-9', [p1, any, p2]), any)
  t.equal(fieldFor('P-9', [p1, p2]), p1, 'the service refuses the wrong one')
  t.equal(fieldFor('P-9', []), undefined)
})
