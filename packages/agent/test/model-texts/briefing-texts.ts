import type { SamplesOf } from '../../../core/test/support/model-texts.ts'

export const samples: SamplesOf<typeof import('../../src/instructions/briefing-texts.ts')> = {
  folderInstructions: [[['<instructions from="/home/you/project/src/AGENTS.md">\nUse tabs.\n</instructions>']]],
  instructionsCut: [['/home/you/project/AGENTS.md']],
  memoryCut: [['/home/you/.halting/projects/-home-you-project/memory/MEMORY.md']],
  skillDescription: [[''], ['No skill is available any more.']],
  unknownSkill: [['relase', ['release', 'review']]],
  gitBranch: [['main...origin/main [ahead 1]']],
  renamedFrom: [['R  b.ts', 'a.ts']],
  moreChanges: [[12], [undefined]],
}
