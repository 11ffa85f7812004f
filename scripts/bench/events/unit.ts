import { readFileSync } from 'node:fs'

const unit = readFileSync(new URL('../../../../systemd/benchd.service', import.meta.url), 'utf8')

/** The flags that the systemd unit gives Node: memory is measured with them, for so the service runs where there is little. */
export const unitFlags = /^ExecStart=\S+\/node ((?:--\S+ )+)/m.exec(unit)![1]!.trim().split(' ')
