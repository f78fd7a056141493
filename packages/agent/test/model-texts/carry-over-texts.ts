import type { SamplesOf } from '../../../core/test/support/model-texts.ts'

export const samples: SamplesOf<typeof import('../../src/context/carry-over-texts.ts')> = {
  fileTitle: [
    ['src/a.ts', { hasChanged: false }],
    ['src/a.ts', { part: { first: 1, last: 200, total: 900 }, hasChanged: true }],
  ],
  shortenedFile: [[1], [12]],
}
