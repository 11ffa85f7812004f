// The settings of a bench that is one of many: where the broker of its lab is, and how the bench is called there.

import * as v from 'valibot'
import { described } from '../kit/described.ts'
import { Id } from '../kit/name.ts'

const Server = v.pipe(
  v.string(),
  v.regex(/^(tls|nats):\/\/[\w.[\]:-]{1,253}$/, 'it must be an address like tls://broker.lab:4222; nats:// is without encryption'),
)
const Path = v.pipe(v.string(), v.nonEmpty())

export const FleetConfig = v.strictObject({
  servers: described(
    v.pipe(v.array(Server), v.minLength(1), v.maxLength(16)),
    'Addresses of the NATS servers of the lab, `tls://broker.lab:4222`; `nats://` is without encryption',
  ),
  lab: described(Id, 'Name of the lab; all its benches have the same'),
  name: described(Id, 'Name of this bench in the lab; no other bench has it'),
  credentials: v.optional(
    described(
      Path,
      'File with the secret key of this bench for the broker, as `benchd lab init` writes it: a path, or a name in `$CREDENTIALS_DIRECTORY`',
    ),
  ),
  ca: v.optional(described(Path, 'File with the certificate of the broker, or of who signed it, PEM')),
  url: v.optional(
    described(v.pipe(v.string(), v.url()), 'Address of the page of this bench for the others; default: made of its host name and port'),
  ),
})
export type FleetConfig = v.InferOutput<typeof FleetConfig>
