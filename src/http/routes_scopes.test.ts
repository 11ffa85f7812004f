// Who may what: every route there is, tried without a key and with a key of each scope.

import { test } from 'tap'
import { allows, scopes } from '../keys/keys.ts'
import { openTestBench } from '../testing/http.ts'
import { routes } from './routes.ts'

/** What is not `read` for GET and `operate` for all else, and why. A route that is not here and differs is a mistake. */
const exceptions: Record<string, string> = {
  getHealth: 'public',
  requestKey: 'public',
  // Its own secret opens it.
  fetchRequestedKey: 'public',
  stopDevice: 'any',
  stopAll: 'any',
  drawEpoch: 'admin',
  listKeys: 'admin',
  createKey: 'admin',
  rotateKey: 'admin',
  revokeKey: 'admin',
  listKeyRequests: 'admin',
  // The codes are for people who operate the bench.
  listConfirmations: 'operate',
  approveKeyRequest: 'admin',
  denyKeyRequest: 'admin',
  getAudit: 'admin',
  examineSystem: 'admin',
  getConfig: 'admin',
  fetchBundle: 'admin',
  listBackups: 'admin',
  createBackup: 'admin',
  fetchBackup: 'admin',
  deleteBackup: 'admin',
  reloadSystem: 'admin',
  testNotify: 'admin',
  restartPlugin: 'admin',
  listDrivers: 'admin',
  identifyInstrument: 'admin',
  addDevice: 'admin',
  loadTopology: 'admin',
  unloadTopology: 'admin',
  putWorkflow: 'admin',
  deleteWorkflow: 'admin',
  deleteExecution: 'admin',
  checkSamples: 'read',
  compareWorkflowDocument: 'read',
  compareTopologyDocument: 'read',
  restoreWorkflowVersion: 'admin',
  restoreTopologyVersion: 'admin',
}

test('GET wants read and all else operate, but for those that are listed', async (t) => {
  for (const { operation_id, method, scope } of routes)
    t.equal(scope, exceptions[operation_id] ?? (method === 'GET' ? 'read' : 'operate'), operation_id)
  const known = routes.map(({ operation_id }) => operation_id)
  for (const operation_id of Object.keys(exceptions)) t.ok(known.includes(operation_id), operation_id)
})

test('every route opens to the scopes that may, and to nobody else', async (t) => {
  const { hono, clock, secrets } = await openTestBench(t)
  for (const { method, path, scope: wanted, operation_id } of routes) {
    for (const scope of [null, ...scopes]) {
      // What follows the check of the scope refuses it: there is no such thing, and this is no JSON.
      const address = path.replace(/:\w+/g, 'nobody')
      const headers = { Host: 'localhost', 'Content-Type': 'application/json', ...(scope && { 'X-API-Key': secrets[scope] }) }
      const request = { method, headers, ...(method !== 'GET' && { body: '{' }) }
      const response = await clock.run(Promise.resolve(hono.request(address, request)))
      await response.body?.cancel()
      const may = wanted === 'public' || (scope !== null && (wanted === 'any' || allows(scope, wanted)))
      const what = `${operation_id} with ${scope ?? 'no key'}: ${response.status}`
      if (may) t.notOk([401, 403].includes(response.status), what)
      else t.equal(response.status, scope === null ? 401 : 403, what)
    }
  }
})
