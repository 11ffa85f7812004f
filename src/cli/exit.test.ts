import { test } from 'tap'
import { LabError } from '../errors.ts'
import { CliError, exitOf } from './exit.ts'

const closed = Object.assign(new Error('EACCES: permission denied'), { code: 'EACCES' })

test('a shell can tell what went wrong by the exit code', (t) => {
  for (const [code, error] of [
    [1, new Error('a fault of ours')],
    [1, new LabError('storage', 'the disk is full', { cause: Object.assign(new Error(), { code: 'ENOSPC' }) })],
    [2, new LabError('invalid', 'no such option')],
    [3, new LabError('not_found', 'no such file')],
    [4, new LabError('forbidden', 'not by you')],
    [4, new LabError('storage', 'it was not written', { cause: closed })],
    [4, new LabError('not_found', 'it cannot be read', { cause: closed })],
    [4, closed],
    [5, new LabError('exists', 'it is there already')],
    [5, new LabError('conflict', 'the port is taken')],
    [69, new CliError('unreachable', 'nobody answers')],
    [75, new LabError('in_use', 'the folder is taken')],
    [78, new LabError('config', 'it cannot be read', { cause: closed })],
  ] as const)
    t.equal(exitOf(error), code, String(error))
  t.end()
})
