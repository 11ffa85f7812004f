// One request to a running service: over its control socket, or over the network with a key.

import { request as requestHttp } from 'node:http'
import { request as requestHttps } from 'node:https'
import { text } from 'node:stream/consumers'
import { socketPath } from '../kit/folder.ts'
import { CliError, exitOfStatus } from './exit.ts'

export type Service = { socket_of: string } | { url: string; api_key: string | undefined }

export const serviceOptions = {
  url: { type: 'string', value: 'URL', help: 'Service to talk to over the network; else the one on the data folder' },
  key: { type: 'string', value: 'KEY', help: 'API key for --url; better: BENCHD_API_KEY' },
  'data-dir': { type: 'string', value: 'DIR', help: 'Data folder of the service on this machine' },
} as const

/** What the service answers, parsed. Throws `CliError`; `unreachable` when nobody listens there. */
export async function ask<Answer>(service: Service, method: string, path: string, body?: object): Promise<Answer> {
  const { status, content } = await exchange(service, method, path, body)
  const answer = JSON.parse(content) as Answer & { detail?: string }
  if (status >= 200 && status < 300) return answer
  throw new CliError(exitOfStatus(status), answer.detail ?? `the service answered ${status}`)
}

function exchange(service: Service, method: string, path: string, body: object | undefined): Promise<{ status: number; content: string }> {
  const sent = body === undefined ? undefined : JSON.stringify(body)
  const headers = sent === undefined ? {} : { 'Content-Type': 'application/json', 'Content-Length': Buffer.byteLength(sent) }
  return new Promise((resolve, reject) => {
    const asking =
      'url' in service
        ? (service.url.startsWith('https:') ? requestHttps : requestHttp)(new URL(path, service.url), {
            method,
            headers: { ...headers, ...(service.api_key && { 'X-API-Key': service.api_key }) },
          })
        : requestHttp({ socketPath: socketPath(service.socket_of, 'control.sock'), method, path, headers })
    asking.on('error', (error) => reject(unreachable(service, error)))
    asking.on('response', (response) => {
      text(response).then((content) => resolve({ status: response.statusCode ?? 0, content }), reject)
    })
    asking.end(sent)
  })
}

function unreachable(service: Service, error: Error): CliError {
  const where = 'url' in service ? service.url : `the data folder ${service.socket_of}`
  return new CliError('unreachable', `no service answers at ${where}: ${error.message}`, { cause: error })
}
