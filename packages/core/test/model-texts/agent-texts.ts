import type { SamplesOf } from '../support/model-texts.ts'

export const samples: SamplesOf<typeof import('../../src/tools/agent-texts.ts')> = {
  missingTools: [['researcher', ['WebSearch', 'WebFetch']]],
}
