import type { SamplesOf } from '../../../core/test/support/model-texts.ts'

export const samples: SamplesOf<typeof import('../../src/instructions/prompt-texts.ts')> = {
  skillFolder: [['/home/you/project/.claude/skills/release']],
  extraArguments: [['v2.0']],
  commandNotRun: [['the folder is not trusted']],
  agentWithoutBash: [['reviewer']],
  mentionedFile: [['/home/you/project/a.ts'], ['/home/you/project/a.ts', { first: 20, last: 45 }]],
  mentionedFolder: [['/home/you/project/src']],
  moreNames: [[40]],
  unreadNames: [[10_000]],
  unreadableFolder: [['EACCES']],
}
