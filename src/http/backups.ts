// The routes of backups. A restore needs an ended service:
// `benchd restore`.

import * as v from 'valibot'
import { Backup, type Backups, MadeBackup } from '../care/backups.ts'
import { OperationResult } from '../devices/records.ts'
import { described } from '../kit/described.ts'
import { json, type Route, routesOf } from './contract.ts'
import { type Pacing, pacedBody } from './paced_body.ts'
import { apiVersion } from './version.ts'

type Rooms = { backups: Backups } & Pacing

const route = routesOf<Rooms>('system')

const path = '/api/system/backups'

export const backupRoutes: Route<Rooms>[] = [
  route('GET', path, {
    operation_id: 'listBackups',
    summary: 'List the backups in the data folder',
    scope: 'admin',
    success: { description: 'The newest first', schema: v.strictObject({ backups: v.array(Backup) }) },
    handle: async ({ rooms }) => json({ backups: await rooms.backups.list() }),
  }),
  route('POST', path, {
    operation_id: 'createBackup',
    summary: 'Make a backup of the configuration and the state',
    description:
      'Beside the daily one; the newest seven are kept. Keys, which are hashed, the event log, and the files of runs are in it only when they are asked for.',
    scope: 'admin',
    body: v.strictObject({
      with_keys: v.optional(v.boolean(), false),
      with_events: v.optional(v.boolean(), false),
      with_files: described(v.optional(v.boolean(), false), 'With the files that are attached to runs'),
      keep: described(v.optional(v.boolean(), true), '`false` for one that is fetched and deleted at once: no older one goes for it'),
    }),
    body_may_be_empty: true,
    success: { status: 201, description: 'The backup is made', schema: MadeBackup, headers: ['Location'] },
    errors: [400, 503],
    async handle({ rooms, body }) {
      const backup = await rooms.backups.make(body())
      return json(backup, 201, { Location: `${path}/${backup.name}` })
    },
  }),
  route('GET', `${path}/:backup_name`, {
    operation_id: 'fetchBackup',
    summary: 'Fetch a backup, as a .tar.gz',
    scope: 'admin',
    success: { description: 'The archive', media_type: 'application/gzip', headers: ['Content-Disposition'] },
    errors: [404],
    async handle({ rooms, c, param }) {
      const backup = await rooms.backups.get(param('backup_name'))
      const headers = {
        'Content-Type': 'application/gzip',
        'Content-Length': String(backup.size),
        'Content-Disposition': `attachment; filename="${backup.name}"`,
        'Cache-Control': 'no-store',
        'X-API-Version': apiVersion,
      }
      return new Response(pacedBody(rooms, { pieces: rooms.backups.read(backup), response: c.env?.outgoing }).body, { headers })
    },
  }),
  route('DELETE', `${path}/:backup_name`, {
    operation_id: 'deleteBackup',
    summary: 'Delete a backup',
    scope: 'admin',
    success: { description: 'The backup is deleted', schema: OperationResult },
    errors: [404, 503],
    async handle({ rooms, param }) {
      await rooms.backups.remove(param('backup_name'))
      return json({ success: true, message: `backup ${param('backup_name')} is deleted` })
    },
  }),
]
