// The question of the safe-state check. It knows places as numbers only, so that a configuration can be sent to a worker. Places that are alike, such as the
// slots of a storage, can be made one place with room for several labware: a search then costs no more for a thousand slots than for one.

/** The rest of one labware's journey. Places are numbers. */
export type Traveller = {
  /** The places that the labware occupies until its first move here: more than one while it holds a device and stands elsewhere. */
  readonly at: readonly number[]
  /** The places of each later stop, of which one is used. Equal stops of several travellers are one array, which is read only once. */
  readonly stops: readonly (readonly number[])[]
  /** Whether the labware stays at its last stop; otherwise it leaves the deck there. */
  readonly stays: boolean
  readonly canPark: boolean
  /** Whether the labware waits for nothing that is known: it need not finish, and may be parked. */
  readonly isIdle: boolean
  /** A place where only this labware may wait between two stops; -1 for none. */
  readonly home: number
}

/** The labware of one island of the deck: where it is, and where it must go. Everything is plain data. */
export type Configuration = {
  /** For each place, the number of its kind: places of one kind are reached alike. */
  readonly kinds: readonly number[]
  readonly kindCount: number
  /** The ways between places of two kinds, by `from * kindCount + to`: each lists the places that must be free on it. No way: no list. */
  readonly ways: readonly (readonly (readonly number[])[])[]
  /** For each place, the places that cannot be taken at the same time: a device and its sites. */
  readonly conflicts: readonly (readonly number[])[]
  /** The places where labware stands that no thread moves. */
  readonly blocked: readonly number[]
  readonly parking: readonly number[]
  readonly travellers: readonly Traveller[]
}

/** Returns for each place the first one that is like it: of its kind, a stop of the same travellers, and equally blocked and passed. */
export function alikes({ kinds, ways, conflicts, blocked, parking, travellers }: Configuration): number[] {
  const signs = kinds.map((kind, place) => [kind, conflicts[place]!.length > 0 ? place : -1])
  for (const place of blocked) signs[place]!.push(-2)
  for (const place of parking) signs[place]!.push(-3)
  for (const alternatives of ways) for (const passed of alternatives) for (const place of passed) signs[place]!.push(-4, place)
  for (const [i, { home }] of travellers.entries()) if (home >= 0) signs[home]!.push(-5, i)
  const stops = new Set(travellers.flatMap(({ stops }) => stops))
  for (const [number, stop] of [...stops].entries()) for (const place of stop) signs[place]!.push(number)
  const first = new Map<string, number>()
  return signs.map((sign, place) => {
    const key = sign.join()
    const alike = first.get(key) ?? place
    first.set(key, alike)
    return alike
  })
}

/** Returns the configuration in which places that are alike are one. A traveller that occupies two of them occupies that one twice. */
export function merged(configuration: Configuration, alike: readonly number[]): Configuration {
  const known = new Map<readonly number[], readonly number[]>()
  const merge = (places: readonly number[]) => {
    const all = known.get(places) ?? [...new Set(places.map((place) => alike[place]!))]
    known.set(places, all)
    return all
  }
  const travellers = configuration.travellers.map((traveller) => ({
    ...traveller,
    at: traveller.at.map((place) => alike[place]!),
    stops: traveller.stops.map(merge),
    home: traveller.home < 0 ? -1 : alike[traveller.home]!,
  }))
  return {
    ...configuration,
    blocked: configuration.blocked.map((place) => alike[place]!),
    parking: merge(configuration.parking),
    travellers,
  }
}
