// The settings of a Keyence BL barcode reader.

import * as v from 'valibot'
import { described, Whole } from '../../src/kit/described.ts'
import { portChoice } from '../port_choice.ts'

export const settings = v.strictObject({
  ...portChoice({ baud: 9600, framing: '7E1' }),
  timeout_s: v.optional(described(Whole(1, 600), 'Time for which a scan waits for a code, in s'), 5),
  codes: v.optional(
    described(
      v.pipe(v.array(v.pipe(v.string(), v.regex(/^[ -~]{0,64}$/, 'must be up to 64 ASCII characters'))), v.minLength(1), v.maxLength(100)),
      'The codes that the simulated reader sees in turn; an empty one is a plate without a code. Default: the code of the labware before it in a run, else some codes',
    ),
  ),
})

export type Settings = v.InferOutput<typeof settings>
