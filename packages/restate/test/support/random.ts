/** Integers below a bound, the same ones for the same seed. */
export function randomOf(seed: number): (below: number) => number {
  let state = Math.imul(seed, 0x9e3779b1) >>> 0
  return (below) => {
    state = (state + 0x6d2b79f5) >>> 0
    const mixed = Math.imul(state ^ (state >>> 15), state | 1)
    return ((mixed ^ (mixed >>> 14)) >>> 0) % below
  }
}
