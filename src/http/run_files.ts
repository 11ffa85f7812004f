// The routes of the files of runs. A file is only ever a download: nothing in it runs with the rights of the page.

import * as v from 'valibot'
import type { Runs } from '../bench/runs.ts'
import { LabError } from '../errors.ts'
import type { Hub } from '../events/hub.ts'
import { longestFile } from '../events/run_files.ts'
import { described } from '../kit/described.ts'
import { attachmentOf, safeFileName } from '../kit/file_name.ts'
import { RecordedFile } from '../workflow/records/record_schema.ts'
import { authorOf } from './author.ts'
import { fileIn } from './body.ts'
import { type Call, type Exchange, json, type Route, routesOf } from './contract.ts'
import { goneSignal } from './events.ts'
import { harmless } from './headers.ts'
import { knownBy } from './known_execution.ts'
import { answerHeaders } from './open_stream.ts'
import { type Pacing, pacedBody } from './paced_body.ts'

type Rooms = { hub: Hub; runs: Runs } & Pacing

const route = routesOf<Rooms>('runs')

const path = '/api/executions/:execution_id/files'
const Sha256 = v.pipe(v.string(), v.regex(/^[0-9a-f]{64}$/, 'it must be a SHA-256: 64 hexadecimal digits'))
const mib = longestFile / 1024 / 1024

export const runFileRoutes: Route<Rooms>[] = [
  route('GET', path, {
    operation_id: 'listFiles',
    summary: 'List the files of an execution: those that were attached, and those that its devices gave',
    scope: 'read',
    success: {
      description: 'The files, in the order in which they were attached',
      schema: v.strictObject({ files: v.array(RecordedFile) }),
    },
    errors: [404, 503],
    async handle({ rooms, param }) {
      const { execution_id } = knownBy(rooms, param('execution_id')).row
      return json({ files: await rooms.runs.attached.list(execution_id) })
    },
  }),
  route('POST', path, {
    operation_id: 'attachFile',
    summary: 'Attach a file to an execution, open or ended',
    description:
      `The body is the file as it is, up to ${mib} MiB, with its media type as \`Content-Type\`; it has to arrive within 30 s. The answer comes when the file is on the disk. ` +
      'The same content under the same name, about the same labware, is attached once: 200 then. `limits.files_mib` of the configuration bounds the files of all executions.',
    scope: 'operate',
    takes_file: true,
    query: v.object({
      name: described(v.pipe(v.string(), v.minLength(1), v.maxLength(1000)), 'The name of the file; of a path its last part'),
      labware: described(
        v.optional(v.pipe(v.string(), v.minLength(1), v.maxLength(400))),
        'The labware that it is about: its name, barcode or id',
      ),
      note: described(v.optional(v.pipe(v.string(), v.maxLength(1000))), 'A note about the file, for people'),
      sha256: described(v.optional(Sha256), 'The hash of the file: it is refused if it arrives otherwise'),
    }),
    success: { status: 201, also: [200], description: 'The file is attached', schema: RecordedFile, headers: ['Location'] },
    errors: [404, 409, 413, 415, 503],
    async handle(call) {
      const { rooms, c } = call
      const { execution_id } = knownBy(rooms, call.param('execution_id')).row
      const { name, labware, note, sha256 } = call.query()
      const about = { ...authorOf(c), name: safeFileName(name), media_type: mediaTypeOf(c), note: note ?? null }
      const bytes = Number(c.req.header('content-length')) || undefined
      const { row, isNew } = await rooms.runs.attached.attach(execution_id, {
        pieces: fileIn(c),
        about,
        labware,
        announced: { bytes, sha256 },
      })
      return json(row, isNew ? 201 : 200, { Location: `/api/executions/${execution_id}/files/${row.sha256}` })
    },
  }),
  route('GET', `${path}/:file_sha256`, {
    operation_id: 'fetchFile',
    summary: 'Download a file of an execution, by its hash',
    scope: 'read',
    success: { description: 'The file', media_type: 'application/octet-stream', headers: ['Content-Disposition'] },
    errors: [404, 503],
    handle: download,
  }),
]

async function download({ rooms, c, param }: Call<Rooms, unknown, unknown>): Promise<Response> {
  const { execution_id } = knownBy(rooms, param('execution_id')).row
  const { name, media_type, bytes, sha256 } = await rooms.runs.attached.find(execution_id, param('file_sha256'))
  const headers = { ...answerHeaders(media_type), ...harmless, 'Content-Length': String(bytes), 'Content-Disposition': attachmentOf(name) }
  if (c.req.method === 'HEAD') return new Response(null, { headers })
  const leave = await rooms.hub.wholeAnswers.acquire(goneSignal(c))
  const pieces = rooms.runs.attached.read(execution_id, sha256)
  return new Response(pacedBody(rooms, { pieces, response: c.env?.outgoing, onEnd: leave }).body, { headers })
}

const word = '[\\w!#$&^.+-]{1,80}'
const mediaType = new RegExp(`^${word}/${word}( *; *${word}=("[ !#-\\[\\]-~]{0,80}"|${word})){0,4}$`)

/** Returns the media type of the body. Throws `media_type` for a text that is none. */
function mediaTypeOf({ req }: Exchange): string {
  const type = req.header('content-type')?.trim() || 'application/octet-stream'
  if (mediaType.test(type)) return type
  throw new LabError('media_type', 'the header Content-Type must hold a media type such as text/csv; leave it out if it is unknown')
}
