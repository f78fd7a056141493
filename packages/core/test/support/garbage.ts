import { garbage as plain } from '../../src/testing/garbage.ts'

export { bug, circle, deep, revoked, throwing } from '../../src/testing/garbage.ts'

/** What the explorer draws on, and what core itself never touches. */
export const garbage: typeof plain = [
  ...plain,
  ['a date', () => new Date(0)],
  ['a date that is none', () => new Date(Number.NaN)],
]
