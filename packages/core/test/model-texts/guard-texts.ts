import type { SamplesOf } from '../support/model-texts.ts'

export const samples: SamplesOf<typeof import('../../src/limits/guard-texts.ts')> = {
  noProgressReminder: [['Wait'], [undefined]],
  failingEditsReminder: [['Edit']],
  tokenTargetReminder: [[25, 50_000, 200_000]],
}
