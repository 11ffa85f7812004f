import { statSync } from 'node:fs'
import { request } from 'node:http'
import { json } from 'node:stream/consumers'
import { test } from 'tap'
import { socketPath } from '../kit/folder.ts'
import { silent } from '../kit/log.ts'
import { startService } from '../main.ts'
import { atTheEnd, benchConfig } from '../testing/http.ts'

test('a second socket is for the group: it is an administrator without a key, and is taken from a service that died', async (t) => {
  const ending = atTheEnd(t)
  const folders = t.testdir({ data: {}, run: { 'control.sock': 'left behind' } })
  const service = await startService(await benchConfig(), { data_dir: `${folders}/data`, runtime_dir: `${folders}/run`, log: silent })
  ending.push(() => service.close())
  const path = `${folders}/run/control.sock`
  t.equal(statSync(path).mode & 0o777, 0o660)
  t.equal(statSync(`${folders}/data/control.sock`).mode & 0o077, 0)
  t.match(await asked(`${folders}/run`, '/api/system/whoami'), { name: 'local', scope: 'admin' })
})

function asked(folder: string, path: string): Promise<unknown> {
  return new Promise((resolve, reject) => {
    request({ socketPath: socketPath(folder, 'control.sock'), path }, (response) => resolve(json(response)))
      .on('error', reject)
      .end()
  })
}
