import type { SamplesOf } from '../../../core/test/support/model-texts.ts'

export const samples: SamplesOf<typeof import('../../src/media/fit-image-texts.ts')> = {
  resizeFailed: [['no memory']],
  pdfTooSlow: [[20]],
}
