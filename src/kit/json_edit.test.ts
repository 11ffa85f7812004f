import fc from 'fast-check'
import { test } from 'tap'
import { parseJsonWithComments } from './json.ts'
import { withoutValue, withValue } from './json_edit.ts'

const kept = `{
  // The bench in the corner.
  "format": 1,
  "devices": [
    // It stands by the window.
    { "device_id": "shaker-1", "driver": "bioshake" }, // loud
    {
      "device_id": "sealer-1", // do not touch
      "settings": { "speed": 3 }
    } /* hot */
  ],
  "listen": { "port": 8520 },
}
`

test('what is added comes last, with the indent of its neighbours, and the comments stay where they are', (t) => {
  t.equal(
    withValue(kept, ['devices', 2], { device_id: 'arm-1', driver: 'external' }),
    kept.replace('} /* hot */\n', '}, /* hot */\n    { "device_id": "arm-1", "driver": "external" }\n'),
  )
  t.equal(withValue(kept, ['name'], 'corner'), kept.replace('8520 },\n', '8520 },\n  "name": "corner",\n'))
  t.equal(withValue(kept, ['listen', 'host'], '::'), kept.replace('8520 }', '8520, "host": "::" }'))
  t.equal(withValue(kept, ['devices', 1, 'name'], 'Sealer'), kept.replace('"speed": 3 }\n', '"speed": 3 },\n      "name": "Sealer"\n'))
  t.end()
})

test('what is changed is changed in its place', (t) => {
  t.equal(withValue(kept, ['listen', 'port'], 8000), kept.replace('8520', '8000'))
  t.equal(withValue(kept, ['devices', 0, 'driver'], 'ika_shaker'), kept.replace('"bioshake"', '"ika_shaker"'))
  t.end()
})

test('what is long is written over several lines', (t) => {
  const device = { device_id: 'shaker-2', driver: 'bioshake', transport: { kind: 'serial', path: `/dev/serial/by-id/${'x'.repeat(60)}` } }
  const text = withValue('{\n  "devices": []\n}\n', ['devices', 0], device)
  t.match(text, /^\{\n {2}"devices": \[\n {4}\{\n {6}"device_id": "shaker-2",\n/)
  t.match(text, /\n {4}\}\n {2}\]\n\}\n$/)
  t.same(JSON.parse(text), { devices: [device] })
  t.end()
})

test('what is taken away takes the comment beside it along, and no other', (t) => {
  t.equal(withoutValue(kept, ['devices', 0]), kept.replace('    { "device_id": "shaker-1", "driver": "bioshake" }, // loud\n', ''))
  const last = withoutValue(kept, ['devices', 1])
  t.match(last, /"driver": "bioshake" } \/\/ loud\n {2}\],\n/)
  t.notMatch(last, /sealer-1|hot/)
  t.equal(withoutValue(kept, ['devices', 7]), kept)
  t.equal(withoutValue('[1, 2, 3]', [1]), '[1, 3]')
  t.equal(withoutValue('[1, 2, 3]', [2]), '[1, 2]')
  t.equal(withoutValue('{ "a": 1 }', ['a']), '{  }')
  t.end()
})

test('the comment of a neighbour stays, wherever it stands', (t) => {
  const pair = '[\n  { "id": "a" }, // bought 2024\n  /* loan */ { "id": "b" } // b\n]\n'
  t.equal(withoutValue(pair, [1]), '[\n  { "id": "a" } // bought 2024\n]\n')
  t.equal(withoutValue(pair, [0]), '[\n  /* loan */ { "id": "b" } // b\n]\n')
  t.equal(withoutValue('[1,\n // of 2\n 2]', [0]), '[\n // of 2\n 2]')
  t.equal(withoutValue('[1, // of 1\n 2]', [0]), '[\n 2]')
  t.equal(withoutValue('[1, /* of 2 */ 2]', [0]), '[/* of 2 */ 2]')
  t.equal(withoutValue('[1, // of 1\n 2 ]', [1]), '[1 // of 1\n  ]')
  t.equal(withoutValue('[{\n1: 2\n}, {\n3: 4\n}]'.replaceAll(/(\d):/g, '"$1":'), [1]), '[{\n"1": 2\n}]')
  t.end()
})

test('lines end as those of the file do, also behind a byte order mark', (t) => {
  t.equal(withValue('{\r\n  "a": []\r\n}\r\n', ['a', 0], 1), '{\r\n  "a": [\r\n    1\r\n  ]\r\n}\r\n')
  t.equal(withValue('\uFEFF{ "a": 1 }', ['a'], 2), '\uFEFF{ "a": 2 }')
  t.end()
})

test('whatever is changed in whatever document, the rest says the same', (t) => {
  const document = fc.dictionary(fc.string(), fc.jsonValue({ maxDepth: 3 }), { minKeys: 1, noNullPrototype: true })
  const styles = [0, 2, '\t'] as const
  fc.assert(
    fc.property(
      document,
      fc.string(),
      fc.jsonValue({ maxDepth: 2 }),
      fc.constantFrom(...styles),
      fc.nat(),
      (content, name, value, indent, n) => {
        const text = JSON.stringify(content, null, indent)
        fc.pre(!/"(__proto__|constructor|prototype)":/.test(JSON.stringify([content, { [name]: value }])))
        const plain = JSON.parse(text) as Record<string, unknown>
        const read = (changed: string) => JSON.stringify(parseJsonWithComments(changed, 'it'))
        const names = Object.keys(plain)
        const gone = names[n % names.length]!
        const { [gone]: _, ...rest } = plain
        if (read(withValue(text, [name], value)) !== JSON.stringify({ ...plain, [name]: JSON.parse(JSON.stringify(value)) })) return false
        return read(withoutValue(text, [gone])) === JSON.stringify(rest)
      },
    ),
    { numRuns: 500 },
  )
  t.end()
})

test('a text that is not JSON is refused', (t) => {
  t.throws(() => withValue('{ "a" }', ['a'], 1), { code: 'invalid' })
  t.end()
})
