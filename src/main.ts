// The daemon: takes its data folder, opens the lab, listens, and closes all of it again.

import type { Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Config } from './config.ts'
import { readTls } from './config.ts'
import { app } from './http/app.ts'
import { claimFolder } from './http/control_socket.ts'
import { closeServer, listen, serverOf } from './http/server.ts'
import { startingApp } from './http/starting.ts'
import { makePrivateFolder } from './kit/folder.ts'
import type { Log } from './kit/log.ts'
import { type Lab, openLab } from './lab.ts'

export type Service = {
  lab: Lab
  /** Where it listens: `http://127.0.0.1:8520`. */
  url: string
  /** Ends it within ten seconds; a second call waits for the first. */
  close(): Promise<void>
}

/** Rejects with `config` or `in_use` when it cannot be started; nothing is left running then. */
export async function startService(config: Config, { data_dir, log }: { data_dir: string; log: Log }): Promise<Service> {
  process.umask(0o077)
  const { connections } = config.limits
  const tls = config.listen.tls ? await readTls(config.listen.tls) : undefined
  await makePrivateFolder(data_dir)
  const door = { app: startingApp() }
  const control = serverOf(() => door.app, { connections, local: true })
  await claimFolder(data_dir, control, (message) => log.warn(message))
  const server = serverOf(() => door.app, { connections, tls })
  try {
    // Before any port of a device is opened: if this one is taken, another service may have those.
    const address = await listen(server, config.listen.host, config.listen.port)
    const lab = await openLab(config, { data_dir, log })
    door.app = app(lab)
    return { lab, url: urlOf(address, tls !== undefined), close: closing(lab, [server, control]) }
  } catch (error) {
    await Promise.all([closeServer(server, 0), closeServer(control, 0)])
    throw error
  }
}

function urlOf({ address, family, port }: AddressInfo, isSecure: boolean): string {
  return `${isSecure ? 'https' : 'http'}://${family === 'IPv6' ? `[${address}]` : address}:${port}`
}

function closing(lab: Lab, servers: readonly Server[]): () => Promise<void> {
  let closed: Promise<void> | undefined
  return () => {
    closed ??= lab.close().then(async () => void (await Promise.all(servers.map((server) => closeServer(server)))))
    return closed
  }
}
