// `benchd audit …`: who did what, and whether the audit trail is whole.

import { basename, join } from 'node:path'
import type { AuditEntry } from '../keys/audit_entry.ts'
import { authorText } from '../kit/author.ts'
import { type Verified, verifyChain } from '../kit/chained_lines.ts'
import { ask, serviceOf, serviceOptions } from './client.ts'
import { command } from './command.ts'
import { CliError } from './exit.ts'
import { localTime } from './local_time.ts'
import { queryOf, spanOptions } from './moment.ts'
import { offline } from './offline.ts'
import { dataDir } from './places.ts'
import { print, table } from './table.ts'
import { noteNone } from './terminal.ts'

type Line = AuditEntry & { file: string; seq: number; hash: string }

const auditTail = command({
  name: 'audit tail',
  summary:
    'Print the audit trail: the newest requests that changed something or were refused, in words, with times in the zone of this computer',
  options: {
    limit: { type: 'string', value: 'N', help: 'Largest number of entries; default 100' },
    who: { type: 'string', value: 'NAME', help: 'Only requests of this person or key: a part of the name' },
    text: { type: 'string', value: 'TEXT', help: 'Only requests with this text in WHAT' },
    device: { type: 'string', value: 'ID', help: 'Only requests about this device, or about every device' },
    ...spanOptions,
    outcome: { type: 'string', value: 'OUTCOME', one_of: ['done', 'refused'], help: 'Outcome: done or refused; default both' },
    ...serviceOptions,
  },
  example: 'benchd audit tail --device shaker-1',
  async run({ options: { limit = '100', outcome, device, who, text, since, until, ...options } }) {
    const path = `/api/system/audit${queryOf({ limit, outcome, device_id: device, who, text, since, until })}`
    const { entries } = await ask<{ entries: Line[] }>(serviceOf(options), 'GET', path)
    if (options.json) for (const entry of entries) print(JSON.stringify(entry))
    else print(table(['TIME', 'WHO', 'SCOPE', 'STATUS', 'WHAT'], entries.map(row)))
    noteNone(entries, 'no such request is recorded')
  },
})

const auditVerify = command({
  name: 'audit verify',
  summary: 'Verify the chains of hashes of the audit trail on this computer, without the service',
  operands: ['[FILE]'],
  options: {
    head: {
      type: 'string',
      value: 'HASH',
      help: 'Hash from the log that the file must contain, to detect a cut-off end',
    },
    'data-dir': serviceOptions['data-dir'],
  },
  example: 'benchd audit verify --head "$(journalctl -u benchd -g "audit: line" -n 1 -o cat | grep -oE "[0-9a-f]{64}")"',
  async run({ options, operands: [file] }) {
    const { auditFiles } = await import('../keys/audit.ts')
    const folder = dataDir(options['data-dir'])
    const path = file ?? join(folder, auditFiles.done)
    const wanted = options.head
    const found = file ? await verifyChain(path, { wanted }) : await offline(folder, 'audit verify', { file: auditFiles.done, wanted })
    if (found.files === 0) throw new CliError('not_found', `there is no audit trail ${path}; name its file, or its folder with --data-dir`)
    // The file exists only after a first refusal.
    const refused = file ? undefined : await offline(folder, 'audit verify', { file: auditFiles.refused, wanted })
    const both = [found, ...(refused?.files ? [refused] : [])]
    const has_wanted = options.head === undefined ? null : both.some((chain) => chain.has_wanted)
    if (options.json) print(JSON.stringify({ ...found, has_wanted, ...(refused && { refused }) }))
    else {
      for (const chain of both) tell(chain, chain === found ? path : join(folder, auditFiles.refused))
      if (has_wanted === false) print(`no line has the hash ${options.head}: what led to it was taken out or changed`)
    }
    return both.some(({ broken, lines }) => broken.length || lines === 0) || has_wanted === false ? 1 : 0
  },
})

export const commands = [auditTail, auditVerify]

function tell({ files, lines, torn, first_seq, head, broken }: Verified, path: string): void {
  for (const { file, line, problem } of broken) print(`${file}:${line}: ${problem}`)
  const range = `lines ${first_seq ?? 0} to ${head?.seq ?? 0}, ${lines} in all`
  print(`${basename(path)}: ${files} files, ${range}, ${torn} torn, ${broken.length} places where the chain is broken`)
  if (head) print(`head ${head.hash}`)
}

function row({ at, key_id, name, operator, client, confirmation, scope, status, text, left_out, times }: Line): string[] {
  const key = name === null ? '-' : name === key_id ? name : `${name} (${key_id})`
  const via = client && `by ${client}, as it calls itself${confirmation ? `, confirmed by ${confirmation.split(' ')[0]}` : ''}`
  const more = [via, times && `${times} times`, left_out && `after ${left_out} that were left out`].filter(Boolean).join(', ')
  return [localTime(at, 'seconds'), authorText(key, operator), scope ?? '-', String(status ?? '-'), more ? `${text} (${more})` : text]
}
