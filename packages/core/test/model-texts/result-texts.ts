import type { SamplesOf } from '../support/model-texts.ts'

const readCall = { tool: 'Read', input: { file_path: '/results/c1.txt' }, lineField: 'offset' }

export const samples: SamplesOf<typeof import('../../src/tools/result-texts.ts')> = {
  notRunText: [['the run stopped before this call']],
  runStoppedBy: [['cost_limit: Reached maximum budget ($1)']],
  withheldText: [['failed'], ['aborted'], ['killed']],
  omittedNote: [
    [{ characters: 93_000, lines: 1_200, line: 41 }, 143_000, { savedAs: '/results/c1.txt', readCall }],
    [{ characters: 93_000, lines: 1, line: 41 }, 143_000, { savedAs: '/results/c1.txt', isMore: true }],
    [{ characters: 93_000, lines: 0, line: 1 }, 143_000, { lostBecause: 'no space left on device' }],
  ],
  completeOutputNote: [
    [{ savedAs: '/results/c1.txt', readCall }],
    [{ savedAs: '/results/c1.txt' }],
    [{ lostBecause: 'no space left on device' }],
  ],
  missingTools: [['researcher', ['WebSearch', 'WebFetch']]],
}
