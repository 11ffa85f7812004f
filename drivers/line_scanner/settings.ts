// The settings of a barcode scanner that sends lines.

import * as v from 'valibot'
import { described, Whole } from '../../src/kit/described.ts'
import { portChoice } from '../port_choice.ts'
import { isEscaped } from './protocol.ts'

const escapes = String.raw`with the escapes \r, \n, \t, \xNN and \\`
const Escaped = v.pipe(v.string(), v.maxLength(64), v.check(isEscaped, `must be text ${escapes}`))

export const settings = v.strictObject({
  ...portChoice({ baud: 9600, framing: '8N1' }),
  suffix: v.optional(described(Escaped, `Text that ends a code, ${escapes}; by default CR, LF or both`), ''),
  prefix: v.optional(described(Escaped, `Text that the scanner sends ahead of a code, ${escapes}; it is left out`), ''),
  no_read: v.optional(described(v.pipe(v.string(), v.maxLength(64)), 'The line that the scanner sends when it could not read a code'), ''),
  trigger: v.optional(described(Escaped, `The command that begins a scan, ${escapes}; without it a code is waited for`), ''),
  release: v.optional(described(Escaped, `The command that ends a scan, ${escapes}`), ''),
  timeout_s: v.optional(described(Whole(1, 600), 'Time for which a scan waits for a code, in s'), 10),
  codes: v.optional(
    described(
      v.pipe(v.array(v.pipe(v.string(), v.maxLength(128))), v.minLength(1), v.maxLength(100)),
      'The codes that the simulated scanner sees in turn; an empty one is a plate without a code. Default: the code of the labware before it in a run, else some codes',
    ),
  ),
})

export type Settings = v.InferOutput<typeof settings>
