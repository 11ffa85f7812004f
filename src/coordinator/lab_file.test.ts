// What is wrong with a lab file, as far as the file alone shows it: each mistake is told with its place.

import { test } from 'tap'
import { labFileOf } from '../examples/lab_benches.ts'
import { parseLabFile } from './lab_file.ts'

const whole = () =>
  labFileOf({
    database: 'postgresql:///lab',
    server: 'nats://127.0.0.1:4222',
    benches: { prep: { name: 'pi-1', url: 'https://pi-1.lab:8520' }, read: { name: 'pi-2', url: 'https://pi-2.lab:8520' } },
  })

// biome-ignore lint/suspicious/noExplicitAny: a document that a test takes apart.
type Loose = any

test('a lab file is read as legs, each with how its labware comes to it', (t) => {
  const { legs, keys, broker, keep_journeys } = parseLabFile(JSON.stringify(whole()), '/etc/lab.json')
  t.equal(keys, 'keys')
  t.equal(keep_journeys, 10_000)
  t.same(broker?.servers, ['nats://127.0.0.1:4222'])
  const [seal, spin] = legs.get('assay')!
  t.match(seal, { place: 'journeys.assay[0]', bench: 'prep', workflow: 'seal', from: undefined, until: 'out', carried: undefined })
  t.match(spin, {
    place: 'journeys.assay[2]',
    bench: 'read',
    from: 'in',
    carried: { by: 'anyone', from: 'out', to: 'in', seconds: 120, max_wait: 600 },
  })
  t.equal(legs.get('there-and-back')?.length, 3)
  t.equal(legs.get('there-and-back')?.[2]?.carried?.max_wait, 600, 'ten minutes, where the file says nothing')
  t.end()
})

const mistakes: [what: string, change: (file: Loose) => void, sentence: RegExp][] = [
  ['no JSON', () => {}, /not JSON/],
  ['a member that nobody knows', (file) => (file.jurneys = {}), /there is no member jurneys; did you mean "journeys"\?/],
  [
    'a bench that is not in the list',
    (file) => (file.journeys.assay[0].on = 'pep'),
    /lab\.json: journeys\.assay\[0\]\.on: there is no bench pep; did you mean "prep"\?/,
  ],
  [
    'a carrier that is not in the list',
    (file) => (file.journeys.assay[1].by = 'anyne'),
    /journeys\.assay\[1\]\.by: there is no carrier anyne; did you mean "anyone"\?/,
  ],
  [
    'a route that no carrier has',
    (file) => (file.carriers.anyone.routes[0] = ['prep/out', 'read/inn']),
    /journeys\.assay\[1\]: anyone has no route from prep\/out to read\/in/,
  ],
  [
    'a route to a bench that is not there',
    (file) => file.carriers.anyone.routes.push(['prep/out', 'wash/in']),
    /carriers\.anyone\.routes\[2\]: there is no bench wash/,
  ],
  [
    'a carry to another bench than the next run',
    (file) => (file.journeys.assay[2].on = 'prep'),
    /journeys\.assay\[1\]\.carry: it carries to the bench read, and the next run is on prep/,
  ],
  [
    'another arrival than the carry',
    (file) => (file.journeys.assay[2].from = 'inn'),
    /journeys\.assay\[2\]\.from: it is inn, and the labware is carried to read\/in/,
  ],
  ['a run without a way out', (file) => delete file.journeys.assay[0].until, /journeys\.assay\[0\]\.until: it is missing/],
  [
    'a last run that hands on',
    (file) => (file.journeys.assay[2].until = 'out'),
    /journeys\.assay\[2\]\.until: the last run of a journey hands nothing on/,
  ],
  [
    'a first run with an arrival',
    (file) => (file.journeys.assay[0].from = 'in'),
    /journeys\.assay\[0\]\.from: the first run has no carrier/,
  ],
  ['two runs without a carry', (file) => file.journeys.assay.splice(1, 1), /journeys\.assay\[1\]: between two runs stands the carry/],
  [
    'two carries',
    (file) => file.journeys.assay.splice(1, 0, file.journeys.assay[1]),
    /journeys\.assay\[2\]: a carry stands between two runs/,
  ],
  ['a carry at the end', (file) => file.journeys.assay.pop(), /journeys\.assay\[1\]: behind the last carry stands a run/],
  [
    'a bench that only the broker would tell of',
    (file) => (file.benches.prep = 'pi-1'),
    /benches\.prep: its API key may go only to whom this file names: write its address, "url", or its name in the lab and the "fingerprint"/,
  ],
  [
    'a bench without an address and without a certificate',
    (file) => (file.benches.prep = { name: 'pi-1' }),
    /benches\.prep: its API key may go only to/,
  ],
  [
    'a certificate without a name',
    (file) => (file.benches.prep = { fingerprint: 'AB'.repeat(32) }),
    /benches\.prep: its API key may go only to/,
  ],
  [
    'a certificate where there is none',
    (file) => Object.assign(file.benches.prep, { url: 'http://pi-1', fingerprint: 'AB'.repeat(32) }),
    /benches\.prep: an address that begins with http:\/\/ has no certificate/,
  ],
  ['half a certificate', (file) => (file.benches.prep.fingerprint = 'AB:CD'), /benches\.prep\.fingerprint must be the SHA-256/],
  [
    'a password in an address',
    (file) => (file.benches.prep.url = 'https://ann:sesame-1@pi-1'),
    /^(?!.*sesame).*benches\.prep\.url must be an address/,
  ],
  [
    'a bench whose address nobody tells',
    (file) => {
      delete file.broker
      file.benches.prep = { name: 'pi-1', fingerprint: 'AB'.repeat(32) }
    },
    /benches\.prep: without a "broker" nobody tells its address/,
  ],
  ['a bench that is a path', (file) => (file.benches['../prep'] = file.benches.prep), /benches\..*must be 1 to 64 letters/],
  ['nothing to keep', (file) => (file.keep_journeys = 0), /keep_journeys/],
  [
    'a database of another kind',
    (file) => (file.database = 'mysql://ann:sesame-1@x'),
    /^(?!.*sesame).*database must be an address like postgresql:/,
  ],
]

for (const [what, change, sentence] of mistakes) {
  test(`a lab file is refused for ${what}`, (t) => {
    const file = whole()
    change(file)
    t.throws(() => parseLabFile(what === 'no JSON' ? '{' : JSON.stringify(file), '/etc/lab.json'), { code: 'config', message: sentence })
    t.end()
  })
}

test('all mistakes of a lab file are told at once', (t) => {
  const file = whole() as Loose
  file.journeys.assay[0].on = 'pep'
  file.journeys['there-and-back'][1].by = 'nobody'
  t.throws(() => parseLabFile(JSON.stringify(file), 'lab.json'), { message: /assay\[0\]\.on[^\n]*(\n[^\n]*)*there-and-back\[1\]\.by/ })
  t.end()
})
