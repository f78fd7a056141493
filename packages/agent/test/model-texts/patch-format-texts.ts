import type { SamplesOf } from '../../../core/test/support/model-texts.ts'

export const samples: SamplesOf<typeof import('../../src/tools/patches/patch-format-texts.ts')> = {
  notPatch: [
    [{ kind: 'no begin' }],
    [{ kind: 'no end' }],
    [{ kind: 'text after end' }],
    [{ kind: 'no files' }],
    [{ kind: 'no path', line: 2 }],
    [{ kind: 'bad path', line: 2 }],
    [{ kind: 'no hunks', line: 2, path: 'src/app.ts' }],
    [{ kind: 'no header', line: 2, text: 'diff --git a/src/app.ts b/src/app.ts' }],
    [{ kind: 'no plus', line: 3, text: 'const a = 1' }],
    [{ kind: 'no sign', line: 4, text: 'const a = 1' }],
  ],
  quoted: [['const a = 1'], ['x'.repeat(100)]],
}
