import type { SamplesOf } from '../support/model-texts.ts'

export const samples: SamplesOf<typeof import('../../src/guards/guard-texts.ts')> = {
  noProgressReminder: [['Wait'], [undefined]],
  failingEditsReminder: [['Edit']],
}
