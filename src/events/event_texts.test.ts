import { test } from 'tap'
import { type Context, runtimeEvent } from './event.ts'
import { jsonOf, makeTexts } from './event_texts.ts'

const contexts: readonly Context[] = [
  {},
  { text: '},{"event_name":"', list: ['},{"event_name":"', { event_name: 'x' }] },
  { text: 'ü\n"\u2028😀', half: '\ud800', plain: '\\ud800' },
  { n: 1, left_out: undefined, nothing: null, list: [undefined, {}, []] },
]
const event = (context: Context, i: number) => runtimeEvent(`CUSTOM.${i}.EMITTED`, 'run-1', i, context)
const entriesOf = (all: readonly Context[]) =>
  all.map((context, i) => ({ event: event(context, i), json: undefined as string | undefined }))

test('the texts that are made together are those that are made one by one', (t) => {
  const many = Array.from({ length: 100 }, (_, i) => contexts[i % contexts.length]!)
  const [together, alone] = [entriesOf(many), entriesOf(many)]
  for (const at of together.keys()) makeTexts(together, at)
  t.ok(together.every(({ json }) => json !== undefined))
  t.same(together.map(jsonOf), alone.map(jsonOf))
  t.end()
})

test('where an event has events in its context, the ends of events cannot be seen, and each text is made alone', (t) => {
  const inside = { list: [event({}, 1), event({}, 2)] }
  const [together, alone] = [entriesOf([{}, inside, {}]), entriesOf([{}, inside, {}])]
  makeTexts(together, 0)
  t.same(
    together.map(({ json }) => json),
    alone.map(jsonOf),
  )
  t.end()
})

test('a text that is there already is left as it is', (t) => {
  const entries = entriesOf([{}, {}, {}])
  entries[1]!.json = 'made before'
  makeTexts(entries, 0)
  t.same([jsonOf(entries[1]!), jsonOf(entries[2]!)], ['made before', JSON.stringify(entries[2]!.event)])
  t.end()
})
