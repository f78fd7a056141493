import { everyTool } from '../../src/tools/available-tools.ts'
import { noTool } from '../support/no-tool.ts'
import type { SamplesOf } from '../../../core/test/support/model-texts.ts'

export const samples: SamplesOf<typeof import('../../src/tools/notebook-texts.ts')> = {
  noCells: [['/project/a.ipynb']],
  cellBeyondEnd: [
    ['/project/a.ipynb', 3, 10],
    ['/project/a.ipynb', 1, 10],
  ],
  cellRange: [
    ['/project/a.ipynb', 1, 20, 45],
    ['/project/a.ipynb', 21, 45, 45],
  ],
  cellImageNotShown: [['It is not a PNG, JPEG, GIF or WebP file.']],
  outputsLeftOut: [[7]],
  outputCut: [[12_000]],
  outputNotShown: [['application/vnd.plotly.v1+json']],
  missingNotebook: [['/project/a.ipynb', ' Similar names in that directory: b.ipynb.']],
  notANotebook: [
    ['/project/a.ipynb', 'is not JSON', everyTool],
    ['/project/a.ipynb', 'is not JSON', noTool],
  ],
  cellTooDeep: [
    ['/project/a.ipynb', everyTool],
    ['/project/a.ipynb', noTool],
  ],
  cellIdNeeded: [['delete']],
  unknownCell: [
    ['/project/a.ipynb', 'x', 'cell-0, cell-1'],
    ['/project/a.ipynb', 'x', ''],
  ],
  cellChanged: [
    ['replace', 'cell-0', 'code', '/project/a.ipynb'],
    ['insert', 'cell-1', 'markdown', '/project/a.ipynb'],
    ['delete', 'cell-1', 'code', '/project/a.ipynb'],
  ],
}
