import type { FlagFor } from './flag-kinds.ts'
import { type Flags, permissionPrompts, thinkings } from './flags.ts'
import { choice, filledText, type Reading, text, tokens } from './values.ts'

type HostFlag =
  | 'replayUserMessages'
  | 'awaitInitialize'
  | 'includeAllMessages'
  | 'debug'
  | 'thinking'
  | 'taskBudget'
  | 'permissionPromptTool'
  | 'permissionPrompts'
  | 'agent'

/** Flags that hosts give: rows of the one table. */
export const hostFlags: { readonly [Name in HostFlag]-?: FlagFor<NonNullable<Flags[Name]>> } = {
  replayUserMessages: {
    names: ['--replay-user-messages'],
    group: 'output',
    kind: 'switch',
    meaning: 'With --input-format stream-json: tell each message of the host again when the session has it',
  },
  awaitInitialize: {
    names: ['--await-initialize'],
    group: 'output',
    kind: 'switch',
    meaning: 'With --input-format stream-json: nothing is opened before the host has said initialize',
  },
  includeAllMessages: {
    names: ['--include-all-messages'],
    group: 'output',
    kind: 'switch',
    meaning:
      'With --input-format stream-json: also send what other agents do not: synthetic user messages, stages after a run, session states',
  },
  debug: {
    names: ['-d', '--debug', '--debug-to-stderr'],
    group: 'output',
    kind: 'value',
    value: '[WHAT]',
    read: text,
    without: '',
    meaning: 'With --input-format stream-json: tell on stderr what the host asks for and what the session does',
  },
  thinking: {
    names: ['--thinking'],
    group: 'model',
    kind: 'value',
    value: 'HOW',
    read: choice(thinkings),
    meaning: 'Whether the model thinks: adaptive (it decides), enabled (as --max-thinking-tokens says), or disabled',
  },
  taskBudget: {
    names: ['--task-budget'],
    group: 'model',
    kind: 'value',
    value: 'N',
    read: tokens,
    meaning: 'Tokens that the model is told it has for the task; it ends nothing: --max-tokens does',
  },
  permissionPromptTool: {
    names: ['--permission-prompt-tool'],
    group: 'tools',
    kind: 'value',
    value: 'TOOL',
    read: promptTool,
    meaning: 'Who answers for a person: stdio (the host), or a tool of a server (mcp__server__tool)',
  },
  permissionPrompts: {
    names: ['--permission-prompts'],
    group: 'tools',
    kind: 'value',
    value: 'WHO',
    read: choice(permissionPrompts),
    meaning: 'Who answers questions: host, or none: what would be asked is denied',
  },
  agent: {
    names: ['--agent'],
    group: 'tools',
    kind: 'value',
    value: 'NAME',
    read: filledText,
    meaning: 'The session is this agent: its prompt, its tools, its model',
  },
}

function promptTool(given: string): Reading<string> {
  return given === 'stdio' || /^mcp__.+__.+$/.test(given)
    ? { value: given }
    : { expected: 'stdio, or a tool of a server such as mcp__auth__ask' }
}
