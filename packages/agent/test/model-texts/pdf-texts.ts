import type { SamplesOf } from '../../../core/test/support/model-texts.ts'

export const samples: SamplesOf<typeof import('../../src/tools/pdf-texts.ts')> = {
  wrongPages: [['"one"']],
  noPdfLibrary: [
    ['/project/a.pdf', 12],
    ['/project/a.pdf', 1],
    ['/project/a.pdf', undefined],
  ],
  unreadablePdf: [['/project/a.pdf', 'It is encrypted.']],
  noSuchPage: [
    ['/project/a.pdf', 3, 10],
    ['/project/a.pdf', 1, 2],
  ],
  pageHeading: [[1, 3]],
  morePages: [['/project/a.pdf', 1, 10, 45]],
}
