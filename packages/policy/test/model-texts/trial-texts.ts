import type { SamplesOf } from '../../../core/test/support/model-texts.ts'

export const samples: SamplesOf<typeof import('../../src/sandbox/trial-texts.ts')> = {
  mayConcern: [['/work/project/server.pid']],
  wrotePath: [['/work/project/dist/index.js']],
}
