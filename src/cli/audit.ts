// `benchd audit …`: who did what, and whether the record of it is whole.

import type { AuditEntry } from '../keys/audit.ts'
import { verifyChain } from '../kit/chained_lines.ts'
import { ask, serviceOf, serviceOptions } from './client.ts'
import { command } from './command.ts'
import { CliError } from './exit.ts'
import { dataDir } from './places.ts'
import { print, table } from './table.ts'

type Line = AuditEntry & { seq: number; hash: string }

const auditTail = command({
  name: 'audit tail',
  summary: 'Print who did what: the newest requests that changed something, or were refused that',
  operands: [],
  options: { limit: { type: 'string', value: 'N', help: 'At most so many; default 100' }, ...serviceOptions },
  async run({ options }) {
    const path = `/api/system/audit?${new URLSearchParams({ limit: options.limit ?? '100' })}`
    const { entries } = await ask<{ entries: Line[] }>(serviceOf(options), 'GET', path)
    if (options.json) for (const entry of entries) print(JSON.stringify(entry))
    else print(table(['TIME', 'WHO', 'SCOPE', 'STATUS', 'WHAT'], entries.map(row)))
    return 0
  },
})

const auditVerify = command({
  name: 'audit verify',
  summary: 'Follow the chain of hashes through the record of who did what, here, without the service',
  operands: ['[FILE]'],
  options: {
    head: { type: 'string', value: 'HASH', help: 'This hash, which the log has told, must be in it: else its end was cut off' },
    'data-dir': serviceOptions['data-dir'],
  },
  example: 'benchd audit verify --head "$(journalctl -u benchd -g "audit: line" -n 1 -o cat | grep -oE "[0-9a-f]{64}")"',
  async run({ options, operands: [file] }) {
    const path = file ?? `${dataDir(options['data-dir'])}/audit.jsonl`
    const found = await verifyChain(path, { wanted: options.head })
    const { files, lines, torn, first_seq, head, broken, has_wanted } = found
    if (files === 0) throw new CliError('not_found', `there is no record ${path}; name it, or its folder with --data-dir`)
    if (options.json) print(JSON.stringify(found))
    else {
      for (const { file, line, problem } of broken) print(`${file}:${line}: ${problem}`)
      if (has_wanted === false) print(`no line has the hash ${options.head}: what led to it was taken out or changed`)
      print(
        `${files} files, lines ${first_seq ?? 0} to ${head?.seq ?? 0}, ${lines} in all, ${torn} torn, ${broken.length} places where the chain is broken`,
      )
      if (head) print(`head ${head.hash}`)
    }
    return broken.length || has_wanted === false || lines === 0 ? 1 : 0
  },
})

export const commands = [auditTail, auditVerify]

function row({ at, key_id, name, scope, status, what, reason, left_out }: Line): string[] {
  const who = name === null ? '-' : name === key_id ? name : `${name} (${key_id})`
  const more = [reason, left_out && `after ${left_out} that were left out`].filter(Boolean).join(', ')
  return [new Date(at * 1000).toISOString().slice(0, 19), who, scope ?? '-', String(status ?? '-'), more ? `${what} (${more})` : what]
}
