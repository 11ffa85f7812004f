// The note and the photo of a device: what is taken, what is given back, and that they are kept.

import { readFileSync, writeFileSync } from 'node:fs'
import { test } from 'tap'
import { isRefusal, openTestBench } from '../testing/http.ts'

const note = '/api/devices/shaker-1/note'
const photo = '/api/devices/shaker-1/photo'
const png = Buffer.from('iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==', 'base64')
const asFile = (body: Uint8Array) => ({ body, headers: { 'Content-Type': 'application/octet-stream' } })

test('a note is written, read with the name of its key, and deleted', async (t) => {
  const { ask, data_dir } = await openTestBench(t)
  t.strictSame((await ask('GET', note)).body, { device_id: 'shaker-1', note: null, photo: null })
  const written = await ask('PUT', note, { json: { text: '  Belt replaced in May ' } })
  t.match(written, { status: 200, body: { text: 'Belt replaced in May', by: 'key to admin', at: Number } })
  t.match((await ask('GET', note, { key: 'read' })).body, { note: written.body })
  t.notOk('operator' in (written.body as object))
  const signed = await ask('PUT', note, { json: { text: 'Belt replaced in June' }, headers: { 'X-Operator': 'Ann' } })
  t.match(signed.body, { by: 'key to admin', operator: 'Ann' })
  t.match((await ask('GET', note)).body, { note: signed.body })
  t.equal((await ask('PUT', note, { json: { text: 'Belt replaced in May' } })).status, 200)
  isRefusal(t, await ask('PUT', note, { json: { text: 'x' }, key: 'read' }), 403)
  for (const text of ['', '   ', 'x'.repeat(4001)]) isRefusal(t, await ask('PUT', note, { json: { text } }), 400, 'invalid')
  isRefusal(t, await ask('PUT', '/api/devices/nobody/note', { json: { text: 'x' } }), 404)
  t.match(JSON.parse(readFileSync(`${data_dir}/device_notes.json`, 'utf8')), { notes: { 'shaker-1': { text: 'Belt replaced in May' } } })
  t.match((await ask('DELETE', note)).body, { success: true })
  t.match((await ask('DELETE', note)).body, { success: true })
  t.match((await ask('GET', note)).body, { note: null })
  const { entries } = (await ask('GET', '/api/system/audit?outcome=done', { key: 'admin' })).body as { entries: { text: string }[] }
  const texts = entries.map(({ text }) => text)
  t.ok(texts.includes('Wrote the note about shaker-1') && texts.includes('Deleted the note about shaker-1'), texts.join('; '))
})

test('a photo is given back with the type of its first bytes, and as nothing that runs', async (t) => {
  const { ask, data_dir, hono, secrets } = await openTestBench(t)
  isRefusal(t, await ask('GET', photo), 404)
  const stored = await ask('PUT', photo, { ...asFile(png), headers: { 'Content-Type': 'text/html' } })
  t.match(stored, { status: 200, body: { media_type: 'image/png', bytes: png.length, sha256: /^[0-9a-f]{64}$/ } })
  t.match((await ask('GET', note)).body, { photo: stored.body })
  const given = await hono.request(photo, { headers: { 'X-API-Key': secrets.read, Host: 'localhost' } })
  t.equal(given.headers.get('content-type'), 'image/png')
  t.equal(given.headers.get('x-content-type-options'), 'nosniff')
  t.match(given.headers.get('content-security-policy'), /default-src 'none'; sandbox/)
  t.strictSame(Buffer.from(await given.arrayBuffer()), png)
  t.strictSame(readFileSync(`${data_dir}/photos/shaker-1`), png)
  const jpeg = Buffer.concat([Buffer.from([0xff, 0xd8, 0xff]), png])
  t.match((await ask('PUT', photo, asFile(jpeg))).body, { media_type: 'image/jpeg' })
  t.match((await ask('PUT', photo, asFile(Buffer.from('RIFF\x10\0\0\0WEBPVP8 ', 'latin1')))).body, { media_type: 'image/webp' })
  // Somebody has put another file in its place.
  writeFileSync(`${data_dir}/photos/shaker-1`, '<script>')
  isRefusal(t, await ask('GET', photo), 404)
  t.match((await ask('DELETE', photo)).body, { success: true })
  t.match((await ask('DELETE', photo)).body, { success: true })
})

test('what is no picture, and a photo that is too large, are refused, and the one before stays', async (t) => {
  const { ask } = await openTestBench(t)
  t.equal((await ask('PUT', photo, asFile(png))).status, 200)
  for (const body of ['', '<svg xmlns="http://www.w3.org/2000/svg"/>', 'GIF89a', '\x89PN'])
    isRefusal(t, await ask('PUT', photo, asFile(Buffer.from(body, 'latin1'))), 415, 'media_type')
  const large = Buffer.concat([Buffer.from([0xff, 0xd8, 0xff]), Buffer.alloc(1024 * 1024)])
  isRefusal(t, await ask('PUT', photo, asFile(large)), 413, 'too_large')
  isRefusal(t, await ask('PUT', photo, { ...asFile(png), key: 'read' }), 403)
  t.match((await ask('GET', note)).body, { photo: { media_type: 'image/png' } })
})
