// Holds a lab file against its benches, and starts nothing.

import { openBenches } from './benches.ts'
import { closed, openLabBroker } from './broker.ts'
import { readLabFile } from './lab_file.ts'
import { planAll } from './plan.ts'

/** Rejects with `config`, naming each mistake and its place in the file. `away` has a sentence for each bench that did not answer. */
export async function checkLab(path: string): Promise<{ lab: string; journeys: number; away: string[] }> {
  const lab = await readLabFile(path)
  const broker = await openLabBroker(lab)
  const benches = await openBenches(lab, (name) => broker?.address(name)).catch((error) => closed(broker, error))
  try {
    const { away } = await planAll(lab, benches)
    return { lab: lab.name, journeys: lab.legs.size, away }
  } finally {
    for (const bench of benches.values()) bench.close()
    await broker?.close()
  }
}
