import { everyTool } from '../../src/tools/available-tools.ts'
import { noTool } from '../support/no-tool.ts'
import type { SamplesOf } from '../../../core/test/support/model-texts.ts'

export const samples: SamplesOf<typeof import('../../src/tools/edit-texts.ts')> = {
  oldStringRedacted: [['[redacted]']],
  lineRange: [
    [2, 2],
    [2, 4],
  ],
  foldedMatch: [['lines 2 to 4', 'white space and upper and lower case']],
  lineNumbersIncluded: [['lines 2 to 4']],
  similarLine: [['line 2']],
  similarLines: [['lines 2 to 4', 2, 3]],
  moreMatchLines: [[12]],
  readToCopy: [['/project/a.ts', 5, 60]],
  lineDifference: [[2, '"\\tone"', '"  one"']],
  nothingSimilar: [[everyTool], [noTool]],
}
