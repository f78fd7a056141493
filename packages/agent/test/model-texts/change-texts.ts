import { everyTool } from '../../src/tools/available-tools.ts'
import { noTool } from '../support/no-tool.ts'
import type { SamplesOf } from '../../../core/test/support/model-texts.ts'

export const samples: SamplesOf<typeof import('../../src/tools/change-texts.ts')> = {
  notRead: [
    ['/project/a.ts', everyTool],
    ['/project/a.ts', noTool],
  ],
  existsUnread: [
    ['/project/a.ts', everyTool],
    ['/project/a.ts', noTool],
  ],
  changedSinceRead: [
    ['/project/a.ts', everyTool],
    ['/project/a.ts', noTool],
  ],
  whatHasChanged: [['@@ -1,1 +1,1 @@\n-one\n+two']],
  changedMeanwhile: [['/project/a.ts']],
  notWrittenAborted: [['/project/a.ts']],
  ambiguousEncoding: [['/project/a.txt', 'UTF-16 (little-endian)']],
  notAFile: [
    ['/project/src', 'directory', 'Edit'],
    ['/project/pipe', 'special', 'Write'],
  ],
  notText: [
    ['/project/a.bin', 'UTF-8', 'Edit', everyTool],
    ['/project/a.log', { moreBytesThan: 67_108_864 }, 'Edit', noTool],
  ],
  missingToEdit: [
    ['/project/mian.ts', ' Similar names in that directory: main.ts.', everyTool],
    ['/project/mian.ts', ' Similar names in that directory: main.ts.', noTool],
  ],
  losesSecretsOfFile: [
    ['/project/.env', '[redacted]', everyTool],
    ['/project/.env', '[redacted]', noTool],
  ],
  losesSecretsOfCell: [['[redacted]']],
  emptyOldString: [['/project/a.ts']],
  oldStringMissing: [['/project/a.ts', 'The nearest match is line 2. It differs in white space.']],
  oldStringAmbiguous: [['/project/a.ts', 2, '2, 9', '     1\ta\n     2\tone\n     3\tb\n   ...\n     9\tone']],
  fileCreated: [['/project/a.ts', 12]],
  fileUpdated: [['/project/a.ts', 1]],
  fileEdited: [
    ['/project/a.ts', 1, '', '     1\tone'],
    ['/project/a.ts', 3, ' It had 2 names (hard links); only this one has the change.', '     1\tone'],
  ],
  encodingPreserved: [
    ['UTF-16 (little-endian)', true],
    [undefined, true],
  ],
  hardLinks: [[2]],
  externalChanges: [['a.ts:\n@@ -1,1 +1,1 @@\n-one\n+two\nb.ts']],
  fileGone: [['a.ts']],
  moreFiles: [[4]],
}
