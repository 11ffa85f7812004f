// Asks the service of this machine, over its socket, what the package's scripts must know:
//
//   service-check.mjs idle             0 if nothing runs or nobody serves, else 1 and a line for each thing that runs
//   service-check.mjs healthy VERSION  0 if it serves and is of that version, else 1 and why not
import { request } from 'node:http'

const checks = { idle, healthy }

async function idle() {
  const { executions } = await ask('/api/executions')
  const running = executions.filter(({ status, paused }) => status === 'IN_PROGRESS' && paused === null)
  const { devices } = await ask('/api/devices')
  const states = await Promise.all(devices.map(({ device_id }) => ask(`/api/devices/${device_id}`)))
  const busy = states.filter(({ state }) => state === 'busy')
  return [
    ...running.map(({ execution_id, workflow_name }) => `${workflow_name} runs (${execution_id})`),
    ...busy.map(({ device_id, operation }) => `${device_id} is busy: ${operation?.name ?? 'it does not say with what'}`),
  ]
}

async function healthy(wanted) {
  const { status, version } = await ask('/health')
  if (status !== 'ok' && status !== 'degraded') return [`it is ${status}`]
  return version === wanted ? [] : [`version ${version} answers, not ${wanted}`]
}

function ask(path) {
  const options = { socketPath: '/run/benchd/control.sock', path, timeout: 30_000 }
  return new Promise((resolve, reject) => {
    const asking = request(options, async (response) => {
      try {
        const parts = await response.toArray()
        const answer = JSON.parse(Buffer.concat(parts).toString())
        if (response.statusCode >= 400 && 'detail' in answer) throw new Error(answer.detail)
        resolve(answer)
      } catch (error) {
        reject(error)
      }
    })
    asking.on('timeout', () => asking.destroy(new Error('no answer within 30 s')))
    asking.on('error', reject)
    asking.end()
  })
}

const [what, ...words] = process.argv.slice(2)
try {
  const troubles = await checks[what](...words)
  for (const trouble of troubles) console.log(trouble)
  process.exitCode = troubles.length ? 1 : 0
} catch (error) {
  const isNobody = ['ENOENT', 'ECONNREFUSED'].includes(error.code)
  if (!(what === 'idle' && isNobody)) {
    console.log(`the service does not tell: ${error.message}; see: systemctl status benchd`)
    process.exitCode = 1
  }
}
