// Questions to the benches of a lab file, and their stop, without a coordinator.

import { Health, WhoAmI } from './answers.ts'
import { keyPath, makeKey, Refused, type RemoteBench } from './benches.ts'
import { addressesTold } from './broker.ts'
import { LabBenches, type StopOfAll } from './lab_benches.ts'
import { type Lab, mistaken, readLabFile } from './lab_file.ts'
import { plannedAll } from './plan.ts'
import { otherVersion } from './versions.ts'

type Checked = { lab: string; journeys: number; away: string[]; others: string[]; unread: string[] }

/**
 * Holds the file against its benches, and starts nothing. Rejects with `config`, naming each mistake and its place in the file, and each bench
 * whose part is not checked. `away` has a sentence for each bench that did not answer, `others` for each that runs another version, and `unread`
 * for each of those whose answers this version cannot read.
 */
export function checkLab(path: string): Promise<Checked> {
  return withBenches(path, async ({ lab, all }) => {
    const wrong = await Promise.all([...all.values()].map((bench) => mistakeOfKey(lab, bench)))
    const mistakes = wrong.filter((mistake) => mistake !== undefined)
    const { mistakes: ofPlans, away: unplanned } = await plannedAll(lab, all)
    mistakes.push(...ofPlans)
    const versions = new Map(await Promise.all([...all.values()].map(async (bench) => [bench.name, await versionOf(bench)] as const)))
    const others = [...versions.values()].filter((sentence) => sentence !== null)
    const unchecked = [...unplanned].map(([name, why]) => ({
      name,
      isThere: Boolean(versions.get(name)),
      why: `${why}; its part is not checked`,
    }))
    const away = unchecked.filter(({ isThere }) => !isThere).map(({ why }) => why)
    const unread = unchecked.filter(({ isThere }) => isThere).map(({ why }) => why)
    if (mistakes.length) throw mistaken(lab.origin, [...mistakes, ...away, ...others, ...unread])
    return { lab: lab.name, journeys: lab.legs.size, away, others, unread }
  })
}

/** Asks all benches of the file to stop, without a coordinator. */
export function stopLab(path: string): Promise<StopOfAll> {
  return withBenches(path, (benches) => benches.stopAll())
}

/** Returns a sentence if the bench runs another version; null if it does not, or does not answer. */
function versionOf(bench: RemoteBench): Promise<string | null> {
  return bench.get('/health', Health).then(
    ({ version }) => otherVersion(bench.name, version),
    () => null,
  )
}

/** Returns what is wrong with the API key of a bench; undefined if the bench accepts it, or does not answer. */
async function mistakeOfKey(lab: Lab, bench: RemoteBench): Promise<string | undefined> {
  const named = `benches.${bench.name}: the API key in ${keyPath(lab, bench.name)}`
  try {
    const { scope } = await bench.get('/api/system/whoami', WhoAmI)
    return scope === 'admin' ? undefined : `${named} has the scope ${scope}, and the coordinator needs admin; ${makeKey(lab)}`
  } catch (error) {
    return error instanceof Refused && error.status === 401 ? `${named} is wrong, expired or revoked; ${makeKey(lab)}` : undefined
  }
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
