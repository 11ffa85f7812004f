// Recognizes files of other programs that users try, and refuses each with the next step.

import { CliError } from './exit.ts'

type Foreign = {
  what: string
  /** `json` is the value of a JSON text, else undefined. */
  is(text: string, json: Readonly<Record<string, unknown>> | undefined): boolean
  advice: string
}

const csv = 'write the points of the arm as CSV, with the columns of: benchd teachpoints export DEVICE FILE.csv'
const asJson = `python3 -c 'import json, sys, yaml; json.dump(yaml.safe_load(sys.stdin), sys.stdout)' < FILE.yaml > FILE.json`
const rewrite =
  'it says what a pipetting robot does; benchd wants what each plate does: see the workflow guide, or benchd workflows show seal-and-spin'

const known: readonly Foreign[] = [
  {
    what: 'an Opentrons protocol',
    is: (_, json) => json?.$otSharedSchema !== undefined || (Array.isArray(json?.commands) && json.robot !== undefined),
    advice: rewrite,
  },
  {
    what: 'a labware definition of Opentrons',
    is: (_, json) => isObject(json?.wells) && Array.isArray(json.ordering),
    advice: `it has wells and no places of an arm; name its loadName as type of the labware in a workflow, and ${csv}`,
  },
  {
    what: 'a deck of PyLabRobot',
    is: (_, json) => typeof json?.type === 'string' && Array.isArray(json.children),
    advice: `it says where labware stands on a deck, in the coordinates of the deck and not of an arm; teach the places, then ${csv}`,
  },
  {
    what: 'an export of the Windows registry, as the settings of a Bravo are kept',
    is: (text) => /^\uFEFF?(Windows Registry Editor|REGEDIT4)/.test(text),
    advice: `its places are those of the Bravo, which goes on using them; of the arm, ${csv}`,
  },
  {
    what: 'a file of VWorks',
    is: (text) => /<Velocity11\b/.test(text.slice(0, 2000)),
    advice: `benchd does not read it; ${csv}`,
  },
  {
    what: 'a list of points of a plate crane, in counts of its motors',
    is: (text) => /^\s*\d{1,4}\s*:\s*[^,\n]+(\s*,\s*-?\d+){4}\s*$/m.test(text),
    advice: `counts are no millimetres and no degrees, and only the crane knows what they are; teach the places anew, then ${csv}`,
  },
  {
    what: 'YAML',
    is: (text, json) => json === undefined && /^(---|[A-Za-z_][\w ]*:(\s|$))/.test(text) && !/^\s*[{[<]/.test(text),
    advice: `benchd reads JSON; to make JSON of it: ${asJson}`,
  },
]

/** Throws a usage error for a file of a known other program. */
export function refuseForeign(text: string, file: string): void {
  const json = jsonIn(text)
  const found = known.find(({ is }) => is(text, json))
  if (found) throw new CliError('usage', `${file} is ${found.what}, and nothing was stored: ${found.advice}`)
}

function jsonIn(text: string): Readonly<Record<string, unknown>> | undefined {
  try {
    const value: unknown = JSON.parse(text.replace(/^\uFEFF/, ''))
    // An array is neither such a file nor YAML.
    return isObject(value) ? value : {}
  } catch {
    return undefined
  }
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
