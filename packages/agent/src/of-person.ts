import type { TranscriptEntry } from '@halting/core'

type UserEntry = Extract<TranscriptEntry, { readonly kind: 'user' }>

const ofPersons: ReadonlySet<UserEntry['origin']> = new Set<UserEntry['origin']>(['prompt', 'steer', 'follow_up'])

/** Whether a person said it, and no tool, hook or the loop itself. */
export function isOfPerson({ origin }: Pick<UserEntry, 'origin'>): boolean {
  return ofPersons.has(origin)
}
