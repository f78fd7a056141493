import { everyTool } from '../../src/tools/available-tools.ts'
import { noTool } from '../support/no-tool.ts'
import type { SamplesOf } from '../../../core/test/support/model-texts.ts'

export const samples: SamplesOf<typeof import('../../src/tools/pdf-texts.ts')> = {
  wrongPages: [['"one"']],
  noPdfLibrary: [
    ['/project/a.pdf', 12, everyTool],
    ['/project/a.pdf', 1, everyTool],
    ['/project/a.pdf', undefined, noTool],
  ],
  unreadablePdf: [
    ['/project/a.pdf', 'It is encrypted.', everyTool],
    ['/project/a.pdf', 'It is encrypted.', noTool],
  ],
  noSuchPage: [
    ['/project/a.pdf', 3, 10],
    ['/project/a.pdf', 1, 2],
  ],
  pageHeading: [[1, 3]],
  morePages: [['/project/a.pdf', 1, 10, 45]],
  pageWithoutText: [[everyTool], [noTool]],
}
