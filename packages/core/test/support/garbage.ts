import { garbage as plain } from '../../src/testing/garbage.ts'

export { bug, circle, deep, revoked, throwing } from '../../src/testing/garbage.ts'

/** Values that the explorer draws, and that core itself never uses. */
export const garbage: typeof plain = [
  ...plain,
  ['a date', () => new Date(0)],
  ['an invalid date', () => new Date(Number.NaN)],
]
