// The connections to other systems that the program opens beside the bench, as the bench reports them.

export type MqttStatus = {
  url: string
  topic: string
  is_connected: boolean
  /** A sentence about what is wrong; null where nothing is. */
  failure: string | null
  /** Messages that were sent since the service began. */
  sent: number
  /** Events and answers that were dropped, because the broker was away or slow. */
  dropped: number
}

export type Links = { mqtt?: { status(): MqttStatus } }
