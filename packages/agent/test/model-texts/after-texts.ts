import type { SamplesOf } from '../../../core/test/support/model-texts.ts'

export const samples: SamplesOf<typeof import('../../src/after/after-texts.ts')> = {
  conversationBlock: [['User: Fix the test\nAgent: Fixed.']],
  speaker: [
    ['User', 'Fix the test'],
    ['Agent', 'Fixed.'],
  ],
}
