import type { SamplesOf } from '../../../core/test/support/model-texts.ts'

export const samples: SamplesOf<typeof import('../../src/tools/read-texts.ts')> = {
  missingFile: [['/project/main.js', '/project', ' Similar names in that directory: main.ts.']],
  notFoundAnywhere: [['main.js']],
  readDirectory: [['/project/src']],
  readSpecialFile: [['/dev/null']],
  binaryFile: [['/project/a.out']],
  imageTooLarge: [['/project/a.png', 90_000_000, 67_108_864]],
  damagedImage: [['/project/a.png']],
  imageNotShown: [['/project/a.png', 'It is not a PNG, JPEG, GIF or WebP file.']],
  pdfTooLarge: [['/project/a.pdf', 90_000_000, 67_108_864]],
  emptyFile: [['/project/a.ts']],
  offsetBeyondEnd: [
    ['/project/a.ts', 3, 10],
    ['/project/a.ts', 1, 10],
  ],
  offsetNotReached: [['/project/a.log', 900_000_000, 1_073_741_824]],
  moreLines: [
    ['/project/a.ts', 1, 2_000, 5_200],
    ['/project/a.ts', 1, 2_000, undefined],
  ],
  undecodedBytes: [['UTF-8']],
}
