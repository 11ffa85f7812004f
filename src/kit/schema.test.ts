import { test } from 'tap'
import * as v from 'valibot'
import { checked } from './schema.ts'

const Shake = v.strictObject({ speed: v.number(), mode: v.optional(v.picklist(['slow', 'fast'])) })
const Mode = v.strictObject({ mode: v.picklist(['slow', 'fast']) })
const Kinds = v.strictObject({
  it: v.variant('kind', [v.strictObject({ kind: v.literal('a') }), v.strictObject({ kind: v.literal('b') })]),
})
const Deep = v.strictObject({ runs: v.array(v.variant('kind', [v.strictObject({ kind: v.literal('shake'), ...Shake.entries })])) })

test('what is right is answered as the schema makes it', (t) => {
  t.same(checked(Shake, { speed: 5 }, 'the body'), { speed: 5 })
  t.end()
})
const Pin = v.strictObject({
  pin: v.union([v.strictObject({ bcm: v.number() }), v.strictObject({ line: v.number() })], 'must be {"bcm": 17} or {"line": 3}'),
})
const Either = v.strictObject({ it: v.union([v.strictObject({ a: v.number() }), v.strictObject({ b: v.number() })]) })
const Point = v.strictObject({ coords: v.strictObject({ x: v.number(), y: v.number() }) })
const Nested = v.strictObject({ runs: v.array(v.strictObject({ settings: v.record(v.string(), v.unknown()) })) })

test('a sentence names the place, what was wrong with it, and what was meant', (t) => {
  const cases: [v.GenericSchema, unknown, string][] = [
    [Shake, {}, 'the body: speed is missing'],
    [Mode, {}, 'the body: mode is missing; it must be one of "slow", "fast"'],
    [Kinds, { it: {} }, 'the body: it.kind is missing; it must be one of "a", "b"'],
    [Deep, { runs: [{ kind: 'shake' }] }, 'the body: runs[0].speed is missing'],
    [Shake, { sped: 5 }, 'the body: there is no member sped; did you mean "speed"?'],
    [Shake, { speed: '5' }, 'the body: speed must be a number, not "5"'],
    [Shake, { speed: 5, mode: 'fastest' }, 'the body: mode must be one of "slow", "fast", not "fastest"'],
    [Pin, { pin: { bmc: 17 } }, 'the body: pin must be {"bcm": 17} or {"line": 3}'],
    [Shake, [], 'the body: it must be an object, not an array'],
    [v.strictObject({}), [], 'the body: it must be an object, not an array'],
    [v.record(v.string(), v.unknown()), [], 'the body: it must be an object, not an array'],
    [Nested, { runs: [{ settings: [] }] }, 'the body: runs[0].settings must be an object, not an array'],
    [Shake, JSON.parse('{"speed": 5, "__proto__": {}}'), 'the body: there is no member __proto__'],
    [Shake, { speed: {} }, 'the body: speed must be a number, not an object'],
    [Either, { it: { c: 1 } }, 'the body: it has none of the shapes that it may have'],
    [Deep, { runs: [{ kind: 'shake', speeed: 5 }] }, 'the body: there is no member runs[0].speeed; did you mean "speed"?'],
    [Point, { coords: { a: 1 } }, 'the body: there is no member coords.a; there is: x, y'],
    [Kinds, { it: { kind: 'a', of: 1 } }, 'the body: there is no member it.of; there is: kind'],
    [v.union([Shake, v.array(Shake)]), null, 'the body: it must be an object or an array, not null'],
    [v.pipe(v.string(), v.maxLength(3)), 'long', 'the body: it must have at most 3 characters, not 4'],
    [v.pipe(v.array(v.number()), v.minLength(1)), [], 'the body: it must have at least 1 members, not 0'],
  ]
  for (const [schema, input, message] of cases) t.throws(() => checked(schema, input, 'the body'), { code: 'invalid', message })
  t.end()
})

test('of a large input the first thing that is wrong is told, and the rest is not looked for', (t) => {
  let looked = 0
  const Item = v.pipe(
    v.strictObject({}),
    v.check(() => {
      looked++
      return false
    }, 'must be another'),
  )
  const many = Array.from({ length: 100_000 }, () => ({}))
  t.throws(() => checked(v.array(Item), many, 'the body'), { code: 'invalid', message: 'the body: [0] must be another' })
  t.ok(looked < 1000, `${looked}`)
  const wide = { runs: many.map(() => ({ kind: 'shake', speeed: 5 })) }
  t.throws(() => checked(Deep, wide, 'the body'), { message: /^the body: runs\[0\]\.speed is missing|speeed/ })
  const deep = JSON.parse(`${'['.repeat(100_000)}${']'.repeat(100_000)}`)
  t.throws(() => checked(Deep, { runs: deep }, 'the body'), { code: 'invalid' })
  t.end()
})
