// The files of runs: attached to open and ended ones, listed, and only ever downloaded.

import { createHash } from 'node:crypto'
import { readdirSync, rmSync, truncateSync } from 'node:fs'
import { test } from 'tap'
import { demoTeachpoints } from '../examples/demo_bench.ts'
import { isRefusal, openService, said } from '../testing/http.ts'
import { beginRun, plateAndLid, plateRun } from '../testing/http_runs.ts'

type FileList = { files: Record<string, unknown>[] }
const sha256Of = (content: string | Uint8Array) => createHash('sha256').update(content).digest('hex')
const html = '<script>alert(document.domain)</script>'

async function opened(t: Parameters<typeof beginRun>[0], isEnded: boolean) {
  const run = await beginRun(t, { workflow: isEnded ? plateRun([{ method: 'shake_it' }]) : plateAndLid({ steps: [{ wait_for: 'go' }] }) })
  if (isEnded) await run.over()
  else await run.thread('plate', 'AWAITING_EVENT')
  const { ask } = run.bench
  const of = `/api/executions/${run.execution_id}/files`
  const attach = (query: string, body: string | Uint8Array, headers = {}, key: 'read' | 'operate' | null = 'operate') =>
    ask('POST', `${of}?${query}`, { body, headers, key })
  return { run, of, ask, attach }
}

for (const isEnded of [false, true]) {
  test(`a file is attached to ${isEnded ? 'an ended' : 'an open'} run once, and is there after a power cut`, async (t) => {
    const { run, of, attach } = await opened(t, isEnded)
    const headers = { 'Content-Type': 'text/html; charset=utf-8' }
    const query = `name=${encodeURIComponent('../Platte Ä.html')}&labware=plate&note=by+hand`
    const { status, body, headers: told } = await attach(query, html, headers)
    t.equal(status, 201)
    const sha256 = sha256Of(html)
    const row = {
      kind: 'file',
      by: 'key to operate',
      name: 'Platte Ä.html',
      note: 'by hand',
      bytes: html.length,
      sha256,
      from: 'person',
      labware: 'plate',
    }
    t.match(body, { ...row, media_type: 'text/html; charset=utf-8', labware_id: String })
    t.equal(told.get('location'), `${of}/${sha256}`)
    const { entries } = (await run.bench.ask('GET', '/api/system/audit?limit=1')).body as { entries: object[] }
    t.match(entries, [{ text: /^Attached the file \.\.\/Platte Ä\.html to the run/, params: { labware: 'plate', note: 'by hand' } }])
    const again = await attach(query, html, headers)
    t.same([again.status, again.body], [200, body])
    t.equal((await attach('name=other.html', html)).status, 201, 'another name is another file')
    const cut = await run.afterPowerCut()
    t.match((await cut.get<FileList>(of)).files, [
      body as object,
      { ...row, name: 'other.html', note: null, labware: undefined, labware_id: undefined },
    ])
    const { rows } = await cut.get<{ rows: object[] }>(`/api/executions/${run.execution_id}/record?kind=file`)
    t.equal(rows.length, 2)
    t.same(readdirSync(`${cut.bench.data_dir}/executions/${run.execution_id}/files`), [sha256])
    t.equal((await cut.ask('GET', `${of}/${sha256}`)).text, html)
  })
}

test('a download shows nothing in a browser, and has the name that was given', async (t) => {
  const { of, ask, attach } = await opened(t, true)
  await attach(`name=${encodeURIComponent('Ä "1".html')}`, html, { 'Content-Type': 'text/html' })
  for (const method of ['GET', 'HEAD']) {
    const { status, headers, text } = await ask(method, `${of}/${sha256Of(html)}`, { key: 'read' })
    t.equal(status, 200)
    t.equal(text, method === 'GET' ? html : '')
    t.equal(headers.get('content-disposition'), `attachment; filename="_ _1_.html"; filename*=UTF-8''%C3%84%20_1_.html`)
    t.equal(headers.get('x-content-type-options'), 'nosniff')
    t.match(headers.get('content-security-policy'), /sandbox/)
    t.notMatch(headers.get('content-security-policy'), /allow/)
    t.equal(headers.get('content-type'), 'text/html')
    t.equal(headers.get('content-length'), String(html.length))
  }
})

test('what cannot be attached is refused with the reason, and leaves nothing behind', async (t) => {
  const { run, of, ask, attach } = await opened(t, true)
  isRefusal(t, await attach('name=a', 'a', {}, 'read'), 403)
  isRefusal(t, await attach('name=a', 'a', {}, null), 401)
  isRefusal(t, await attach('', 'a'), 400)
  isRefusal(t, await attach('name=..', 'a'), 400)
  isRefusal(t, await attach('name=a', ''), 400)
  isRefusal(t, await attach('name=a', 'a', { 'Content-Encoding': 'gzip' }), 415)
  isRefusal(t, await attach('name=a', 'a', { 'Content-Type': 'text' }), 415)
  isRefusal(t, await attach(`name=a&sha256=${'0'.repeat(64)}`, 'a'), 400)
  const wrong = await attach('name=a&labware=lid', 'a')
  isRefusal(t, wrong, 404)
  t.match(wrong.body, { detail: /has no labware "lid"; it has plate/ })
  isRefusal(t, await ask('POST', '/api/executions/nothing/files?name=a', { body: 'a' }), 404)
  isRefusal(t, await ask('GET', `${of}/${sha256Of('b')}`), 404)
  isRefusal(t, await ask('GET', `${of}/..%2Frecord.jsonl`), 404)
  t.same((await run.get<FileList>(of)).files, [])
  t.same(readdirSync(`${run.bench.data_dir}/executions/${run.execution_id}/files`), [])
  const { execution_id } = await run.post<{ execution_id: string }>('/api/submissions', { workflow: 'work', run_mode: 'PURE_SIM' })
  const simulated = await ask('POST', `/api/executions/${execution_id}/files?name=a`, { body: 'a' })
  isRefusal(t, simulated, 409)
  t.match(simulated.body, { detail: /PURE_SIM executions keep none/ })
})

test('a torn row of an ended run costs nothing else, and the files go with the run', async (t) => {
  const { run, of, ask, attach } = await opened(t, true)
  await attach('name=a', 'a')
  await attach('name=b', 'b')
  const folder = `${run.bench.data_dir}/executions/${run.execution_id}`
  truncateSync(`${folder}/record.jsonl`, (await run.get<FileList>(of)).files.length * 10 + 100)
  t.equal((await attach('name=c', 'c')).status, 201)
  t.match((await run.get<FileList>(of)).files.at(-1), { name: 'c' })
  rmSync(`${folder}/files/${sha256Of('c')}`)
  const gone = await ask('GET', `${of}/${sha256Of('c')}`)
  isRefusal(t, gone, 404)
  t.match(gone.body, { detail: /is gone, as after a restore of a backup without files/ })
  t.equal((await ask('DELETE', `/api/executions/${run.execution_id}`)).status, 200)
  t.throws(() => readdirSync(folder))
})

test('a large file goes through a small memory; a stop beside it is answered at once; one that is too large or broken off is refused', async (t) => {
  const { ask, port, secrets, data_dir, bench, url } = await openService(t)
  await bench.teachpoints.importAll(demoTeachpoints, { overwrite: false })
  await ask('POST', '/api/topology/load', { json: { name: 'demo' } })
  const { body } = await ask('POST', '/api/submissions', { json: { workflow: 'seal-and-spin', run_mode: 'DEVICE_SIM' } })
  const { execution_id } = body as { execution_id: string }
  t.ok(execution_id, JSON.stringify(body))
  const path = `/api/executions/${execution_id}/files?name=large.bin`
  const piece = new Uint8Array(1024 * 1024).fill(7)
  let stops = 0
  const pieces = (count: number) =>
    new ReadableStream<Uint8Array>({
      async pull(controller) {
        if (count-- === 0) return controller.close()
        if (count % 8 === 0) stops += (await ask('POST', '/api/devices/shaker-1/stop')).status === 200 ? 1 : 0
        controller.enqueue(piece)
      },
    })
  const send = (count: number) =>
    fetch(url + path, { method: 'POST', headers: { 'X-API-Key': secrets.operate }, body: pieces(count), duplex: 'half' } as RequestInit)
  const answer = await send(64)
  t.equal(answer.status, 201)
  t.match(await answer.json(), { bytes: 64 * 1024 * 1024, media_type: 'application/octet-stream' })
  t.ok(stops >= 8, `${stops} stops`)
  const head = (length: number, key: string) =>
    `POST ${path} HTTP/1.1\r\nHost: 127.0.0.1\r\nX-API-Key: ${key}\r\nConnection: close\r\nContent-Length: ${length}\r\n\r\n`
  t.match(await said(port, `${head(64 * 1024 * 1024 + 1, secrets.operate)}x`), /^HTTP\/1\.1 413 /)
  t.match(await said(port, `${head(64 * 1024 * 1024, 'bk_wrong')}x`), /^HTTP\/1\.1 401 /)
  t.match(await said(port, `${head(1000, secrets.operate)}half`, { end: true }), /^HTTP\/1\.1 400 |^$/)
  const files = `${data_dir}/executions/${execution_id}/files`
  t.equal(readdirSync(files).filter((name) => !name.endsWith('.tmp')).length, 1)
  t.equal((await bench.runs.attached.list(execution_id)).length, 1)
})
