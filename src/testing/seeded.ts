/** Returns a source of numbers from 0 to 1: the same for the same seed, which is not 0. */
export function seeded(seed: number): () => number {
  let state = seed
  return () => {
    state ^= state << 13
    state ^= state >>> 17
    state ^= state << 5
    return (state >>> 0) / 2 ** 32
  }
}
