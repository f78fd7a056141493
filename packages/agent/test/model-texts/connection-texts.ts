import type { SamplesOf } from '../../../core/test/support/model-texts.ts'

export const samples: SamplesOf<typeof import('../../src/mcp/connection-texts.ts')> = {
  serverEnded: [['exit code 9']],
  signInAdvice: [
    ['tracker', true],
    ['my tracker', true],
    ['tracker', false],
  ],
  moreScopeAdvice: [
    ['tracker', true, 'write'],
    ['tracker', false, undefined],
  ],
}
