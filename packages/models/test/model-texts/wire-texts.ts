import type { SamplesOf } from '../../../core/test/support/model-texts.ts'

export const samples: SamplesOf<typeof import('../../src/service/wire-texts.ts')> = {
  documentOmitted: [[''], ['a.pdf']],
  imagesOfResult: [['call_1']],
  filesFollow: [[1], [2]],
  filesOfResult: [['Screenshot', 'call_1']],
  createdEarlier: [['image'], ['file']],
}
