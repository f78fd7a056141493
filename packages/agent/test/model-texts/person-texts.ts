import type { SamplesOf } from '../../../core/test/support/model-texts.ts'

export const samples: SamplesOf<typeof import('../../src/tools/person-texts.ts')> = {
  userAnswered: [[['Which database?\nAnswer: sqlite', 'Which port?\nAnswer: 3000']]],
  answerTo: [
    ['Which database?', 'sqlite'],
    ['Which database?', undefined],
  ],
}
