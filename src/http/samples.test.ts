// Sheets of samples over HTTP: checked, refused with all mistakes, submitted once.

import { test } from 'tap'
import { isRefusal } from '../testing/http.ts'
import { beginRun, plateRun } from '../testing/http_runs.ts'

const submission_id = '5f0c9a1e-8c5d-4f0e-9a51-0d3c7f6a1b2c'
const workflow = '/api/workflows/work'
const path = `${workflow}/samples`
const speed = { type: 'integer', unit: 'rpm', minimum: 200, maximum: 2000, description: 'Of the shaker' }
const document = (limits: object = {}) => {
  const workflow = plateRun([{ action: { do: 'shake', on: 'shaker-1', with: { speed: { variable: 'speed' }, duration: 5 } } }])
  return { ...workflow, variables: { speed: { ...speed, ...limits } } }
}

test('a sheet is checked without any effect, for a key that may only read', async (t) => {
  const { bench } = await beginRun(t, { workflow: document(), submission: { variables: { speed: 500 } } })
  const answer = await bench.ask('POST', path, { key: 'read', json: { samples: 'group;barcode;speed\r\nA1;P-1;500\r\nA2;P-1;9000\r\n' } })
  t.equal(answer.status, 200, answer.text)
  t.match(answer.body, {
    groups: [{ group_id: 'A1', members: { plate: { barcode: 'P-1' } }, variables: { speed: 500 } }, { group_id: 'A2' }],
    mistakes: [
      {
        row: 3,
        column: 'B',
        header: 'barcode',
        message: 'row 3, column B (barcode): the barcode P-1 is in row 2 too; labware with a barcode exists once',
      },
      { row: 3, column: 'C', message: 'row 3, column C (speed): speed is 9000 rpm, and must be at most 2000 rpm' },
    ],
    mistakes_left_out: 0,
    columns: [
      { column: 'A', header: 'group', takes: 'group', name: null },
      { column: 'B', header: 'barcode', takes: 'barcode', name: 'plate' },
      { column: 'C', header: 'speed', takes: 'variable', name: 'speed' },
    ],
    rows: [{ row: 2, cells: ['A1', 'P-1', '500'] }, { row: 3 }],
  })
  t.match((await bench.ask('GET', path, { key: 'read' })).body, { text: 'group,barcode,speed\r\ng1,,200\r\n' })
  t.equal((await bench.ask('GET', path, { key: 'read', headers: { Accept: 'text/csv' } })).text, 'group,barcode,speed\r\ng1,,200\r\n')
  t.match((await bench.ask('GET', workflow, { key: 'read' })).body, { variables: { speed } })
})

test('a submission with a wrong sheet is refused with all mistakes; a right one begins once, also after a restart and another workflow', async (t) => {
  const first = await beginRun(t, { workflow: document(), submission: { variables: { speed: 500 } } })
  const { ask } = first.bench
  const put = (limits: object) => ask('PUT', '/api/workflows/other', { key: 'admin', json: { ...document(limits), name: 'other' } })
  t.equal((await put({})).status, 201)
  const json = { submission_id, workflow: 'other', run_mode: 'PURE_SIM', samples: 'barcode,speed\nP-1,600\n' }
  for (const route of ['/api/submissions', '/api/simulations']) {
    const refused = await ask('POST', route, { json: { ...json, samples: 'barcode,speed\nP-1,50\nP-2,fast\n' } })
    t.match([refused.status, refused.headers.get('x-reason')], [400, 'invalid'])
    t.match(refused.body, {
      detail: /^samples: 2 mistakes: row 2, column B \(speed\): speed is 50 rpm, and must be at least 200 rpm; row 3/,
      mistakes: [
        { row: 2, column: 'B' },
        { row: 3, column: 'B' },
      ],
    })
  }
  t.match((await ask('POST', '/api/simulations', { json })).body, { verdict: 'completes', actions: 1 })
  const one = await ask('POST', '/api/submissions', { json })
  t.equal(one.status, 202, one.text)
  const { execution_id } = one.body as { execution_id: string }
  t.match((await ask('GET', `/api/submissions/${submission_id}`)).body, { group_ids: ['g1'], variables: {} })
  t.equal((await put({ maximum: 550 })).status, 200)
  t.match((await ask('POST', '/api/submissions', { json })).body, { execution_id }, 'the same request is answered as then')
  isRefusal(t, await ask('POST', '/api/submissions', { json: { ...json, samples: 'barcode,speed\nP-1,500\n' } }), 409, 'conflict')
  const { bench: restarted } = await first.afterPowerCut()
  t.match((await restarted.ask('POST', '/api/submissions', { json })).body, { execution_id })
})

test('labware that has not begun is shown with its group and its barcode', async (t) => {
  const groups = ['A', 'B'].map((group_id) => ({ group_id, members: { plate: { barcode: `P-${group_id}` } }, variables: { speed: 500 } }))
  const { bench, execution_id } = await beginRun(t, { workflow: document(), submission: { groups } })
  const { threads, groups: counted } = (await bench.ask('GET', `/api/executions/${execution_id}`)).body as {
    threads: { submission_id: string | null }[]
    groups: object[]
  }
  t.match(threads, [
    { group_id: 'A', barcode: 'P-A' },
    { status: 'CREATED', group_id: 'B', barcode: 'P-B', submission_id: threads[0]?.submission_id },
  ])
  t.match(counted, [
    { group_id: 'A', open: 1 },
    { group_id: 'B', open: 1 },
  ])
})
