import type { LargeResults } from '@halting/core/adapters'
import type { OtherProgram } from './other-programs.ts'
import type { Scenario } from './world.ts'

/** What reading gives is over the limit, what writing gives is not. */
const kept: LargeResults = {
  limit: 8,
  save: async ({ idempotencyKey }) => idempotencyKey,
}

const otherPrograms: { readonly [name: string]: OtherProgram } = {
  'another limit': { options: () => ({ largeResults: { ...kept, limit: 3 } }), endings: [] },
  'nothing keeps results': {
    options: () => ({ largeResults: undefined }),
    endings: [],
  },
}

/** Results that come before a person is asked, or are too large to be shown, and whoever keeps them. */
export const resultScenarios: readonly Scenario[] = [
  {
    name: 'calls that cannot succeed',
    replies: ['read write', 'write', 'text'],
    permissions: true,
    prechecks: true,
    hooks: ['afterToolUse'],
    aborts: ['user'],
    depth: 1,
    deviations: 2,
  },
  {
    name: 'large results',
    replies: ['read write', 'task', 'text'],
    aborts: ['user'],
    depth: 1,
    deviations: 2,
    options: { largeResults: kept },
  },
  {
    name: 'large results, and what keeps them keeps to nothing',
    replies: ['reads', 'text'],
    strangers: ['save'],
    depth: 1,
    deviations: 1,
    options: { largeResults: kept },
  },
  {
    name: 'large results, by another program after a kill',
    replies: ['read write', 'task'],
    depth: 1,
    deviations: 1,
    otherPrograms,
    options: { largeResults: kept },
  },
]
