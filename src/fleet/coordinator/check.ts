// Questions to the benches of a lab file, and their stop, without a coordinator.

import { addressesTold } from './broker.ts'
import { LabBenches, type StopOfAll } from './lab_benches.ts'
import { readLabFile } from './lab_file.ts'
import { planAll } from './plan.ts'

/** Holds the file against its benches, and starts nothing. Rejects with `config`, naming each mistake and its place in the file. `away` has a sentence for each bench that did not answer. */
export function checkLab(path: string): Promise<{ lab: string; journeys: number; away: string[] }> {
  return withBenches(path, async ({ lab, all }) => {
    const { away } = await planAll(lab, all)
    return { lab: lab.name, journeys: lab.legs.size, away }
  })
}

/** Asks all benches of the file to stop, where no coordinator does. */
export function stopLab(path: string): Promise<StopOfAll> {
  return withBenches(path, (benches) => benches.stopAll())
}

async function withBenches<Answer>(path: string, call: (benches: LabBenches) => Promise<Answer>): Promise<Answer> {
  const lab = await readLabFile(path)
  const benches = await LabBenches.open(lab)
  try {
    await addressesTold(lab, benches.broker)
    return await call(benches)
  } finally {
    await benches.close()
  }
}
