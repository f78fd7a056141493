import { everyTool } from '../../src/tools/available-tools.ts'
import { noTool } from '../support/no-tool.ts'
import type { SamplesOf } from '../../../core/test/support/model-texts.ts'

export const samples: SamplesOf<typeof import('../../src/tools/read-texts.ts')> = {
  missingFile: [['/project/main.js', '/project', ' Similar names in that directory: main.ts.']],
  notFoundAnywhere: [['main.js']],
  readDirectory: [
    ['/project/src', everyTool],
    ['/project/src', noTool],
  ],
  readSpecialFile: [['/dev/null']],
  binaryFile: [
    ['/project/a.out', everyTool],
    ['/project/a.out', noTool],
  ],
  imageTooLarge: [['/project/a.png', 90_000_000, 67_108_864]],
  damagedImage: [['/project/a.png']],
  imageNotShown: [['/project/a.png', 'It is not a PNG, JPEG, GIF or WebP file.']],
  pdfTooLarge: [
    ['/project/a.pdf', 90_000_000, 67_108_864, everyTool],
    ['/project/a.pdf', 90_000_000, 67_108_864, noTool],
  ],
  emptyFile: [['/project/a.ts']],
  offsetBeyondEnd: [
    ['/project/a.ts', 3, 10],
    ['/project/a.ts', 1, 10],
  ],
  offsetNotReached: [
    ['/project/a.log', 900_000_000, 1_073_741_824, everyTool],
    ['/project/a.log', 900_000_000, 1_073_741_824, noTool],
  ],
  moreLines: [
    ['/project/a.ts', 1, 2_000, 5_200],
    ['/project/a.ts', 1, 2_000, undefined],
  ],
  undecodedBytes: [
    ['UTF-8', everyTool],
    ['UTF-8', noTool],
  ],
  pdfByBash: [[everyTool]],
  scanStopped: [[everyTool], [noTool]],
}
