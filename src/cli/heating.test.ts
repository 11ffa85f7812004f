// Heat at a shell: it is switched off by a word, lists show what is on, and a run that left heat on says so.

import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { type Test, test } from 'tap'
import { benchd } from '../testing/cli.ts'
import { openService } from '../testing/http.ts'

test('off switches the heater off, and every list shows a heater that is on', async (t) => {
  const { url, secrets } = await openService(t)
  const env = { BENCHD_URL: url, BENCHD_API_KEY: secrets.operate }
  const said = async (...args: string[]) => {
    const { code, stdout, stderr } = await benchd(t.testdirName, args, env)
    t.equal(code, 0, stderr)
    return stdout
  }
  await said('devices', 'init', 'shaker-1')
  await said('devices', 'set-temperature', 'shaker-1', '--temperature', '60')
  for (const list of [['devices', 'list'], ['status']]) t.match(await said(...list), /shaker-1 .*ready \(heating to 60 °C; simulated\)/)
  const remedy = 'heating to 60 °C; to switch it off: benchd devices set-temperature shaker-1 --temperature off'
  t.match(await said('devices', 'show', 'shaker-1'), remedy)
  t.equal(await said('devices', 'set-temperature', 'shaker-1', '--temperature', 'off'), 'shaker-1: heater switched off\n')
  for (const list of [
    ['devices', 'list'],
    ['devices', 'show', 'shaker-1'],
  ])
    t.notMatch(await said(...list), /heating/)
  t.equal(await said('devices', 'perform', 'shaker-1', 'set_temperature', '--temperature', 'off'), 'shaker-1: heater switched off\n')
  t.match(await said('devices', 'set-temperature', '--help'), /--temperature N\|off +Target temperature, or off for no heat, in °C/)
  const wrong = await benchd(t.testdirName, ['devices', 'set-temperature', 'shaker-1', '--temperature', 'null'], env)
  t.match(wrong, { code: 2, stderr: /--temperature null is not a number, and not off/ })
})

const execution_id = '7b1c2d3e-0000-4000-8000-000000000000'
const remedy = 'is still heating to 60 °C; to switch it off: benchd devices set-temperature shaker-1 --temperature off'

/** A service that answers as after a run that left the heater of `shaker-1` on. */
async function afterwards(t: Test, heating: object | null) {
  const still_heating = [{ device_id: 'shaker-1', target: 60 }]
  const run = {
    execution_id,
    workflow_name: 'warm',
    run_mode: 'LIVE',
    status: 'COMPLETED',
    reason: null,
    threads: [],
    moves: [],
    groups: [],
  }
  const ended = {
    timestamp: 1,
    entity_type: 'EXECUTION',
    status: 'COMPLETED',
    context: { workflow_name: 'warm', reason: null, still_heating },
  }
  const answers: Record<string, object> = {
    '/events': { events: [ended], next_since: 2 },
    [`/api/executions/${execution_id}`]: { ...run, still_heating },
    [`/api/executions/${execution_id}/blockers`]: { blockers: [] },
    [`/api/executions/${execution_id}/why`]: { threads: [] },
    [`/api/executions/${execution_id}/threads`]: { threads: [] },
    [`/api/executions/${execution_id}/record`]: { rows: [] },
    '/api/labware': { labware: [] },
    '/api/devices/shaker-1': { device_id: 'shaker-1', heating },
  }
  const server = createServer(({ url = '' }, response) => response.end(JSON.stringify(answers[url.split('?')[0]!])))
  t.teardown(() => server.close())
  await once(server.listen(0, '127.0.0.1'), 'listening')
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const folder = t.testdir({})
  return (verb: string) => benchd(folder, ['runs', verb, execution_id, '--url', url, '--key', 'bk_any'])
}

test('a run that left heat on says so wherever it is shown, and why it is asked only as long as that is so', async (t) => {
  const runs = await afterwards(t, { target: 60, is_lowest: false })
  t.match(await runs('show'), { code: 0, stdout: `at its end:\n  shaker-1 ${remedy}\n` })
  t.match(await runs('follow'), { code: 0, stdout: new RegExp(`^shaker-1 ${remedy}\n\\S+Z  warm: the run is COMPLETED\n$`) })
  t.match(await runs('why'), { code: 0, stdout: `it has ended: nothing waits\nshaker-1 ${remedy}\n` })
  const unnamed = await afterwards(t, { target: null, is_lowest: false })
  const own = 'heating; to switch it off: its own operation (benchd devices caps shaker-1), or benchd devices stop shaker-1\n'
  t.match(await unnamed('why'), { code: 0, stdout: `shaker-1 is still ${own}` }, 'it may have no set_temperature')
  const later = await afterwards(t, null)
  t.match(await later('why'), { code: 0, stdout: 'it has ended: nothing waits\n' })
  t.notMatch((await later('why')).stdout, /heating/)
})
