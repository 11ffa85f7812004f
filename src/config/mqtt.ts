// The settings of the MQTT broker that the bench publishes its state to.

import * as v from 'valibot'
import { described } from '../kit/described.ts'
import { Id } from '../kit/name.ts'

const Path = v.pipe(v.string(), v.nonEmpty())

/** A topic without wildcards, and without a slash at its ends. */
const Topic = v.pipe(
  v.string(),
  v.maxLength(200),
  v.regex(/^[^\s/+#$\p{Cc}][^\s+#\p{Cc}]*(?<!\/)$/u, 'must be a topic without +, # and spaces, which neither begins nor ends with /'),
)

export const MqttConfig = v.strictObject({
  url: described(
    v.pipe(
      v.string(),
      v.regex(/^mqtts?:\/\/[\w.[\]:-]{1,253}$/, 'must be an address like mqtts://broker.lab:8883; mqtt:// is without encryption'),
    ),
    'Address of the broker, `mqtts://broker.lab:8883`; `mqtt://` is without encryption',
  ),
  username: v.optional(described(v.pipe(v.string(), v.nonEmpty()), 'Name of this bench at the broker')),
  password: v.optional(described(Path, 'File with its password: a path, or a name in `$CREDENTIALS_DIRECTORY`')),
  ca: v.optional(described(Path, 'File with the certificate of the broker, or of who signed it, PEM')),
  client_id: v.optional(
    described(Id, 'Name of the connection; no other client of the broker has it. Default: `benchd-` and the `system_id`'),
  ),
  topic: v.optional(described(Topic, 'First part of all topics; default: `benchd/` and the `system_id`')),
  events: v.optional(described(v.boolean(), 'Publishes each event too, below `event/`'), false),
  discovery: v.optional(
    described(v.nullable(Topic), 'Topic under which Home Assistant looks for devices; `null` for no discovery'),
    'homeassistant',
  ),
  commands: v.optional(
    described(
      v.strictObject({
        key: described(Path, 'File with the API key with which commands are carried out: a path, or a name in `$CREDENTIALS_DIRECTORY`'),
      }),
      'Carries out commands that come over the broker. Everybody who may publish there can then move and heat; without it nobody can',
    ),
  ),
})
export type MqttConfig = v.InferOutput<typeof MqttConfig>
