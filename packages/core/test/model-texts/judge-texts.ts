import type { SamplesOf } from '../support/model-texts.ts'

export const samples: SamplesOf<typeof import('../../src/goals/judge-texts.ts')> = {
  agentCall: [['Bash']],
  toolResult: [['Bash', 'may be quoted']],
  mayNotBeQuoted: [['it is from before the last change']],
  framedPart: [['AGENT says', 'The tests pass.', '#1f2e3d4c']],
  omittedParts: [[1], [12]],
  endsOf: [
    ['40 tests passed', 100],
    ['x'.repeat(20), 10],
  ],
  judgeQuestionText: [
    ['=== GOAL #1f2e3d4c\nThe tests pass\n=== end #1f2e3d4c', []],
    [
      '=== GOAL #1f2e3d4c\nThe tests pass\n=== end #1f2e3d4c',
      ['=== USER says #1f2e3d4c\nFix it.\n=== end #1f2e3d4c', '(1 part omitted here)'],
    ],
  ],
  afterEmptyAnswer: [['Is the goal met?']],
  uselessEvidence: [['- there is no quote']],
  quoteRefusal: [
    ['40 tests passed', 'it has fewer than 20 characters'],
    ['x'.repeat(300), 'it is empty'],
  ],
  quoteTooLong: [[2_000]],
  quotePartOfAgent: [['40testspassed']],
  judgedMet: [[['Tests  40 passed (40), Duration 341ms']]],
  judgedUnmet: [['--json is not described.']],
  judgedWithoutEvidence: [['- there is no quote']],
  nothingToQuote: [[], [{ tool: 'Bash', why: 'it is from before the last change' }]],
  judgeFailed: [['The model service is overloaded.']],
}
