import type { SamplesOf } from '../../../core/test/support/model-texts.ts'

export const samples: SamplesOf<typeof import('../../src/memory/memory-texts.ts')> = {
  extractionTopics: [
    [
      [
        ['user', 'who the user is, and what they know'],
        ['project', 'facts and decisions about this project'],
      ],
    ],
  ],
  extractionBounds: [[5]],
  invalidChoice: [[['user', 'project']]],
}
