import type { SamplesOf } from '../../../core/test/support/model-texts.ts'

export const samples: SamplesOf<typeof import('../../src/hooks/hook-texts.ts')> = {
  hookContext: [['PostToolUse', 'Run the formatter.']],
  hookNotRun: [['the sandbox cannot confine it: bwrap is missing']],
  notConfined: [['bwrap is missing']],
  promptBlocked: [[''], ['It contains a secret.']],
}
