import { everyTool } from '../../src/tools/available-tools.ts'
import { noTool } from '../support/no-tool.ts'
import type { SamplesOf } from '../../../core/test/support/model-texts.ts'

export const samples: SamplesOf<typeof import('../../src/agents/agent-texts.ts')> = {
  backgroundControls: [[{ hasTaskOutput: true, hasTaskStop: true }], [{ hasTaskOutput: true, hasTaskStop: false }]],
  agentLine: [
    ['reviewer', 'Reviews a change for errors.'],
    ['reviewer', 'Reviews a change for errors.', ['Read', 'Grep']],
    ['thinker', 'Answers without tools.', []],
  ],
  moreAgents: [[12]],
  unknownAgent: [['reviewr', 'general-purpose, reviewer']],
  unknownModel: [
    ['gpt-0', []],
    ['gpt-0', ['claude-sonnet-5-5', 'claude-haiku-5']],
  ],
  uncheckableGoals: [['reviewer']],
  misspelledTool: [['tools', 'reviewer', 'read', 'Read']],
  allToolsGuarded: [['reviewer', ['Bash', 'Edit']]],
  noToolAvailable: [['reviewer', ['mcp__github']]],
  subagentRules: [[everyTool], [noTool]],
}
