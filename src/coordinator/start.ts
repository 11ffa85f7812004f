// The coordinator of a lab as a process: takes its data folder, listens, and carries journeys out for as long as PostgreSQL is there.

import { readTls } from '../config/tls.ts'
import { checkConfig } from '../config.ts'
import { LabError, messageOf } from '../errors.ts'
import { claimFolder } from '../http/control_socket.ts'
import { closeServer, listen, serverOf } from '../http/server.ts'
import { Audit, byService } from '../keys/audit.ts'
import { Keys } from '../keys/keys.ts'
import { sleep, systemClock } from '../kit/clock.ts'
import { makePrivateFolder } from '../kit/folder.ts'
import type { Log } from '../kit/log.ts'
import { packageVersion } from '../kit/package_version.ts'
import { Refusals } from '../kit/refusals.ts'
import { coordinatorApp } from './app.ts'
import { Coordinator } from './coordinator.ts'
import { LabBenches } from './lab_benches.ts'
import type { Lab } from './lab_file.ts'
import type { CoordinatorRooms } from './routes.ts'

type CoordinatorService = {
  url: string
  fingerprint: string | undefined
  keys: Keys
  /** Resolves with a sentence when the process must end and begin anew: another coordinator may have the database. */
  lost: Promise<string>
  close(): Promise<void>
}

type CoordinatorOptions = {
  data_dir: string
  host: string
  port: number
  tls?: { cert: string; key: string } | undefined
  /** Names at which the coordinator is reached besides those of its computer. */
  hosts?: readonly string[]
  log: Log
}

const again_ms = 2000

/** Rejects with `config` for a lab file that its benches cannot carry out, and with `in_use` where another coordinator works. */
export async function startCoordinator(
  lab: Lab,
  { data_dir, host, port, tls, hosts = [], log }: CoordinatorOptions,
): Promise<CoordinatorService> {
  process.umask(0o077)
  const config = await checkConfig({ format: 1, devices: [], hosts }, 'the coordinator')
  const certificate = tls && (await readTls(tls))
  const refusals = new Refusals({ log, clock: systemClock })
  const bounded = { limits: () => config.limits, refusals }
  const report = ({ message }: { message: string }) => log.error(message)
  await makePrivateFolder(data_dir)
  const benches = await LabBenches.open(lab)
  const rooms: CoordinatorRooms = { benches, coordinator: undefined, failure: 'PostgreSQL was not reached yet' }
  const keys = await Keys.open({ folder: data_dir, report })
  const audit = new Audit({ folder: data_dir, log, report })
  const app = coordinatorApp({ config, keys, refusals, audit, log, rooms })
  const control = serverOf(() => app, { ...bounded, local: true })
  const server = serverOf(() => app, { ...bounded, tls: certificate })
  const closing = new AbortController()
  const close = async () => {
    closing.abort()
    await Promise.all([control, server].map((one) => closeServer(one)))
    await rooms.coordinator?.close()
    await benches.close()
    await keys.close()
    audit.note({ ...byService, what: 'stop', details: { text: 'Stopped the coordinator' } })
    await audit.close()
  }
  try {
    await claimFolder(data_dir, control, (message) => log.warn(message))
    const address = await listen(server, host, port)
    audit.note({ ...byService, what: `start ${packageVersion()}`, details: { text: `Started the coordinator ${packageVersion()}` } })
    for (const bench of benches.all.values()) bench.follow()
    const lost = opened(benches, { rooms, log, ended: closing.signal })
    // A mistake of the file ends the start; a database that is away does not.
    await lost.first
    const name = address.family === 'IPv6' ? `[${address.address}]` : address.address
    return {
      url: `${certificate ? 'https' : 'http'}://${name}:${address.port}`,
      fingerprint: certificate?.fingerprint,
      keys,
      lost: lost.gone,
      close,
    }
  } catch (error) {
    await close()
    throw error
  }
}

/** Opens the coordinator as soon as the database is there. */
function opened(
  benches: LabBenches,
  { rooms, log, ended }: { rooms: CoordinatorRooms; log: Log; ended: AbortSignal },
): { first: Promise<void>; gone: Promise<string> } {
  const attempt = async (): Promise<void> => {
    try {
      rooms.coordinator = await Coordinator.open(benches, log)
      log.info(`journeys of the lab ${benches.lab.name} go on`)
    } catch (error) {
      if (!(error instanceof LabError) || error.code !== 'disconnected') throw error
      if (rooms.failure !== error.message) log.warn(`${error.message}; tried again every ${again_ms / 1000} s`)
      rooms.failure = error.message
    }
  }
  const first = attempt()
  const gone = first.then(async () => {
    while (!rooms.coordinator && !ended.aborted) {
      await sleep(systemClock, again_ms, ended).catch(() => undefined)
      if (ended.aborted) break
      try {
        await attempt()
      } catch (error) {
        return messageOf(error)
      }
    }
    if (!rooms.coordinator) return new Promise<string>(() => {})
    return `PostgreSQL is gone (${await rooms.coordinator.store.gone})`
  })
  gone.catch(() => undefined)
  return { first, gone }
}
