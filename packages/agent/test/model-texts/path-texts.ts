import type { SamplesOf } from '../../../core/test/support/model-texts.ts'

export const samples: SamplesOf<typeof import('../../src/tools/path-texts.ts')> = {
  noPermission: [['/project/a.ts', 'read', 'EACCES']],
  systemRefused: [
    ['/project/a.ts', 'written', 'ENOSPC'],
    ['/project/a.ts', 'searched', 'EWEIRD'],
  ],
  lookAlikes: [['"a\\u00a0b.txt"']],
  similarNames: [['main.ts, main.tsx']],
  nearestFolder: [['/project/scr', '/project']],
  lineCut: [[1_200]],
}
