import type { SamplesOf } from '../../../core/test/support/model-texts.ts'

export const samples: SamplesOf<typeof import('../../src/coding-agent/system-prompt-texts.ts')> = {
  workingDirectory: [['/home/you/project']],
  moreDirectories: [[['/home/you/library', '/tmp/data']]],
  platformLine: [['linux 6.1']],
  dateLine: [['2026-01-31']],
}
