// Benches that run another version of benchd than the coordinator.

import { packageVersion } from '../kit/package_version.ts'

/** Returns a sentence about a bench that runs another version than this process; null where both are the same, or the bench does not tell. */
export function otherVersion(bench: string, version: string | undefined): string | null {
  const ours = packageVersion()
  if (version === undefined || version === ours) return null
  return `${bench} runs benchd ${version}, and the coordinator ${ours}; update the older one before journeys go there`
}
