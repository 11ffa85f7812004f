// The connection to the MQTT broker that a bench opens.

import { pageOf } from '../bench/address.ts'
import type { Bench } from '../bench/bench.ts'
import { boardOf } from '../http/live/board.ts'
import { sourcesOf } from '../http/live/sources.ts'
import { Mqtt } from './mqtt.ts'

type Fetch = (request: Request) => Response | Promise<Response>

/** Opens the connection that the configuration names. The workflows are opened too, because their runs are part of the state. */
export async function openMqtt(bench: Bench, fetch: Fetch): Promise<Mqtt> {
  await bench.openRuns()
  const { config, version, clock, log, hub } = bench
  return Mqtt.open({
    ...{ config: config.mqtt!, system_id: config.system_id, page: pageOf(config), version, clock, log, hub, fetch },
    show(outlet, kinds) {
      const sources = sourcesOf(bench).filter(({ kind }) => kinds.has(kind))
      return boardOf(bench).show(
        outlet,
        sources.map((source) => [source.kind, source] as const),
      ).close
    },
  })
}
