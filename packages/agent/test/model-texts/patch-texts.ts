import { everyTool } from '../../src/tools/available-tools.ts'
import { noTool } from '../support/no-tool.ts'
import type { SamplesOf } from '../../../core/test/support/model-texts.ts'

const path = '/home/you/project/src/app.ts'

export const samples: SamplesOf<typeof import('../../src/tools/patches/patch-texts.ts')> = {
  notApplied: [[[`${path}, hunk 2: ...`, '/home/you/project/src/b.ts does not exist. ...']]],
  sameFile: [[path]],
  insideOther: [[`${path}/x`, path]],
  existsAlready: [[path]],
  targetExists: [[path, '/home/you/project/src/main.ts']],
  missing: [
    [path, '', everyTool],
    [path, '', noTool],
  ],
  unread: [
    [path, everyTool],
    [path, noTool],
  ],
  changedSince: [[path]],
  hiddenFile: [[path]],
  isLink: [
    [path, 'PROJECT/src/real.ts', everyTool],
    [path, 'PROJECT/src/real.ts', noTool],
  ],
  secretLost: [[path, '[REDACTED]']],
  misplaced: [
    [path, { hunk: 1, kind: 'no anchor', anchor: 'class Parser' }, ''],
    [path, { hunk: 1, kind: 'not found', old: ['const a = 1'] }, '    12\tconst a = 2'],
    [path, { hunk: 1, kind: 'elsewhere', old: ['const a = 1'] }, ''],
    [path, { hunk: 2, kind: 'unordered', line: 3 }, ''],
    [path, { hunk: 1, kind: 'several', lines: [3, 40, 77, 90, 101], count: 7 }, ''],
    [path, { hunk: 1, kind: 'nothing changed' }, ''],
  ],
  applied: [
    [
      [
        { kind: 'add', path: 'src/new.ts', lines: { added: 3, removed: 0 }, inexact: [], notes: '' },
        {
          kind: 'update',
          path: 'src/app.ts',
          moveTo: 'src/main.ts',
          lines: { added: 1, removed: 2 },
          inexact: [{ hunk: 1, line: 12, ignored: 'blanks' }],
          notes: '',
        },
        { kind: 'delete', path: 'src/old.ts', lines: { added: 0, removed: 9 }, inexact: [], notes: '' },
      ],
    ],
  ],
  failedMidway: [
    [`${path} could not be written: there is no space left (ENOSPC).`, []],
    [
      `${path} could not be written: there is no space left (ENOSPC).`,
      ['/home/you/project/src/b.ts: another program changed it meanwhile'],
    ],
  ],
  changedMeanwhile: [[path]],
  notRestored: [[path, 'EACCES: permission denied']],
}
