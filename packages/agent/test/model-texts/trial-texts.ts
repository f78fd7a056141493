import type { SamplesOf } from '../../../core/test/support/model-texts.ts'

export const samples: SamplesOf<typeof import('../../src/tools/trial-texts.ts')> = {
  trialTimedOut: [[120_000]],
  trialNotStarted: [['the working directory is gone']],
  refusedInTrial: [['mkdir: cannot create directory: Permission denied']],
  missedInTrial: [['/home/me/.aws/config']],
  notRunAfterTrial: [['it writes /work/project/dist/index.js']],
}
