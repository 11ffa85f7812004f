import { once } from 'node:events'
import { mkdirSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { test } from 'tap'
import { openService } from '../testing/http.ts'
import { checkLab } from './check.ts'

test('a key that a bench refuses, or that may too little, is a mistake of the lab file; a bench that is away is told apart', async (t) => {
  const { url, secrets } = await openService(t)
  const home = t.testdir({})
  const path = `${home}/lab.json`
  mkdirSync(`${home}/keys`)
  const check = (key: string, address = url) => {
    writeFileSync(`${home}/keys/prep.key`, `${key}\n`)
    const journeys = { assay: [{ on: 'prep', workflow: 'seal-and-spin' }] }
    const database = 'postgresql:///lab'
    writeFileSync(
      path,
      JSON.stringify({ format: 1, name: 'floor-2', database, benches: { prep: { url: address } }, carriers: {}, journeys }),
    )
    return checkLab(path)
  }
  const make = 'make one on that bench: benchd key create --name lab-floor-2 --scope admin, and write it into that file'
  await t.rejects(check('bk_wrong'), {
    code: 'config',
    message: `benches.prep: the API key in ${home}/keys/prep.key is wrong, expired or revoked; ${make}`,
  })
  await t.rejects(check(secrets.operate), {
    code: 'config',
    message: /keys\/prep\.key has the scope operate, and the coordinator needs admin/,
  })
  await t.rejects(check(secrets.admin), { code: 'config', message: /journeys\.assay\[0\]\.on: no topology is loaded on prep/ })
  t.match(await check(secrets.admin, 'http://127.0.0.1:9'), { lab: 'floor-2', away: [/prep does not answer/] })
})

test('a check names the mistakes and the benches that are away together, and the members of a carry where a carry is meant', async (t) => {
  const { url, secrets } = await openService(t)
  const home = t.testdir({ keys: { 'prep.key': secrets.admin, 'read.key': secrets.admin } })
  const path = `${home}/lab.json`
  const check = (journeys: object) => {
    const benches = { prep: { url }, read: { url: 'http://127.0.0.1:9' } }
    writeFileSync(path, JSON.stringify({ format: 1, name: 'floor-2', database: 'postgresql:///lab', benches, journeys }))
    return checkLab(path)
  }
  const at = (on: string) => [{ on, workflow: 'seal-and-spin' }]
  await t.rejects(check({ one: at('prep'), two: at('read') }), {
    code: 'config',
    message: /journeys\.one\[0\]\.on: no topology is loaded on prep.*\n.*read does not answer.*; its part is not checked/,
  })
  await t.rejects(check({ one: [...at('prep'), { cary: 'read/in', by: 'ann' }, ...at('read')] }), {
    code: 'config',
    message: /journeys\.one\[1\].*cary.*did you mean "carry"/,
  })
})

test('a bench of another version is named, also where its answers are those of that version', async (t) => {
  const answers: Record<string, object> = {
    '/health': { status: 'ok', version: '0.0.9', more: 1 },
    '/api/system/whoami': { scope: 'admin' },
    '/api/topology': { name: 'demo', positions: [{ name: 'pad_1', parking: true }] },
  }
  const server = createServer(({ url = '' }, response) => {
    response.writeHead(answers[url] ? 200 : 404, { 'Content-Type': 'application/json' })
    response.end(JSON.stringify(answers[url] ?? { detail: 'there is nothing' }))
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => server.close())
  const home = t.testdir({ keys: { 'old.key': 'bk_1_2' } })
  const benches = { old: { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}` } }
  const journeys = { one: [{ on: 'old', workflow: 'seal-and-spin' }] }
  writeFileSync(`${home}/lab.json`, JSON.stringify({ format: 1, name: 'floor-2', database: 'postgresql:///lab', benches, journeys }))
  t.match(await checkLab(`${home}/lab.json`), {
    away: [],
    unread: [/^the answer of the bench old is not what a bench answers: .*handover.*; its part is not checked$/],
    others: [/^old runs benchd 0\.0\.9, and the coordinator \S+; update the older one before journeys go there$/],
  })
})
