// The process that `store_kill.long.test.ts` kills: writers at the same time over one store, which say on stdout what was acknowledged.
//
//   node store_kill.test.writer.js FOLDER ROUND…    one writer for each device, each goes on after the round it is given

import { write } from '../testing/teachpoints.ts'
import { Teachpoints } from './store.ts'

const [folder = '', ...rounds] = process.argv.slice(2)
const report = ({ message }: { message: string }) => say(`report ${message}`)
say('opening')
const store = await Teachpoints.open({ folder, report })
for (const [i, last] of rounds.entries()) void writer(i, Number(last))

async function writer(i: number, last: number): Promise<void> {
  for (let round = last + 1; ; round++) {
    await write(store, i, round)
    say(`${i} ${round}`)
  }
}

/** A pipe takes it at once: what was said is out when the process is killed. */
function say(line: string): void {
  process.stdout.write(`${line}\n`)
}
