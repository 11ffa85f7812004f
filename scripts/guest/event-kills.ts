// The service under load, killed at any moment again and again, on one data folder: 15 times, or fifty times with BENCHD_TRIALS=all.
//
//   event-kills.js [SEED]

import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { killRounds } from '../../src/http/kills.test.rounds.ts'
import { trials } from '../../src/testing/trials.ts'

const rounds = trials(50, 15)
const seed = Number(process.argv[2] ?? 1)
const folder = mkdtempSync(join(tmpdir(), 'event-kills-'))
process.once('exit', () => rmSync(folder, { recursive: true, force: true }))
const { problems, events, seen, acknowledged, kills } = await killRounds(folder, { rounds, seed })
for (const problem of problems.slice(0, 20)) console.log(`NOT OK - ${problem}`)
console.log(`seed ${seed}: ${events} events over ${kills} kills; ${seen} times one was seen, ${acknowledged} were acknowledged`)
console.log(problems.length ? `0 passed, ${problems.length} failed` : `${rounds} passed, 0 failed`)
process.exitCode = problems.length ? 1 : 0
