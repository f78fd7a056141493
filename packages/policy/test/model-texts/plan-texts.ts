import type { SamplesOf } from '../../../core/test/support/model-texts.ts'

export const samples: SamplesOf<typeof import('../../src/permissions/plan-texts.ts')> = {
  planModeWords: [[{ hasExit: true }], [{ hasExit: false, instructions: 'Write the plan as a numbered list.' }]],
}
