import { test } from 'tap'
import { documentChanges, lineChanges } from './document_diff.ts'

const texts = (before: unknown, after: unknown) => documentChanges(before, after).map(({ text }) => text)

const steps = (...methods: string[]) => ({ threads: { plate: { steps: methods.map((method) => ({ method })) } } })

test('says by place what was added, removed and changed, whatever the order of the members', (t) => {
  const before = { name: 'a', variables: { speed: { default: 400 } }, methods: { seal_it: [{ do: 'seal', on: 'sealer-1' }], old: [] } }
  const after = {
    methods: { seal_it: [{ on: 'sealer-1', do: 'seal' }], spin_it: [{ do: 'centrifuge', on: 'centrifuge-1' }] },
    variables: { speed: { default: 600, unit: 'rpm' } },
    name: 'a',
  }
  t.same(texts(before, after), [
    'variables.speed.default: 400 -> 600',
    'variables.speed.unit: added ("rpm")',
    'methods.old: removed',
    'methods.spin_it: added',
  ])
  t.same(texts(after, structuredClone(after)), [])
  t.same(texts(400, 600), ['the document: 400 -> 600'])
  t.end()
})

test('compares lists by their items: a step that is put in between changes nothing of the others', (t) => {
  const at = 'threads.plate.steps'
  t.same(texts(steps('shake_it', 'seal_it'), steps('shake_it', 'seal_it', 'spin_it')), [`${at}: spin_it added after seal_it`])
  t.same(texts(steps('shake_it', 'seal_it'), steps('wash_it', 'shake_it', 'seal_it')), [`${at}: wash_it added before shake_it`])
  t.same(texts(steps(), steps('wash_it')), [`${at}: wash_it added as the only one`])
  t.same(texts(steps('a', 'b', 'c'), steps('a', 'c')), [`${at}: b removed`])
  t.same(texts(steps('a', 'b', 'c'), steps('b', 'c', 'a')), [`${at}: a moved after c`])
  t.same(texts(steps('a', 'b'), steps('b', 'b', 'a')).length, 2)
  t.end()
})

test('says of a step that stayed in its place which of its members has changed', (t) => {
  const shake = (speed: number) => ({ do: 'shake', on: 'shaker-1', with: { speed } })
  const seal = { do: 'seal', on: 'sealer-1' }
  t.same(texts({ m: [shake(400), seal] }, { m: [{ emit: 'begun' }, shake(600), seal] }), [
    'm: emit begun added before shake',
    'm[1].with.speed: 400 -> 600',
  ])
  t.same(texts({ m: [shake(400), shake(500), seal] }, { m: [shake(400), shake(700), seal] }), ['m[1].with.speed: 500 -> 700'])
  t.same(texts({ at: ['pad_1', 'pad_2'] }, { at: ['pad_1', 'pad_3'] }), ['at: "pad_3" added after "pad_1"', 'at: "pad_2" removed'])
  t.same(
    texts({ m: [seal] }, { m: { actions: [seal], on_end: [] } }),
    ['m.on_end: added'],
    'the short and the long form of a method are the same',
  )
  t.end()
})

test('shortens long values, and leaves a list alone whose comparison would be too large', (t) => {
  const [text = ''] = texts({ a: 'x'.repeat(500) }, { a: 'y' })
  t.ok(text.length < 120, text)
  const many = Array.from({ length: 1000 }, (_, i) => ({ name: `n${i}`, i }))
  t.same(texts({ many }, { many: many.with(500, { name: 'n500', i: -1 }) }), ['many[500].i: 500 -> -1'])
  t.end()
})

test('lists the lines of two texts that differ', (t) => {
  t.same(lineChanges('a\nb\nc', 'a\nB\nc\nd'), ['-2: b', '+2: B', '+4: d'])
  t.same(lineChanges('a', 'a'), [])
  t.end()
})
