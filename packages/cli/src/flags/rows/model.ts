import type { FlagFor } from '../flag-kinds.ts'
import { type Flags, efforts, thinkings } from '../flags.ts'
import { nearest } from '../nearest.ts'
import { choice, filledText, list, text, thinkingTokens, tokens, type Reading } from '../values.ts'

type ModelFlag =
  | 'model'
  | 'fallbackModel'
  | 'script'
  | 'settings'
  | 'betas'
  | 'maxThinkingTokens'
  | 'effort'
  | 'systemPrompt'
  | 'systemPromptFile'
  | 'appendSystemPrompt'
  | 'appendSystemPromptFile'
  | 'settingSources'
  | 'smallModel'
  | 'thinking'
  | 'taskBudget'

/** Flags about the model and its instructions. */
export const modelFlags: { readonly [Name in ModelFlag]-?: FlagFor<NonNullable<Flags[Name]>> } = {
  model: {
    names: ['--model'],
    topic: 'model',
    kind: 'value',
    value: 'NAME',
    read: filledText,
    alsoOf: ['what-if'],
    meaning: 'Set the model, such as claude-sonnet-5-5, gpt-5, ollama/qwen3 or openai-compatible/NAME',
    meaningFor: { 'what-if': 'With --may-lose: only the runs that asked this model most' },
  },
  fallbackModel: {
    names: ['--fallback-model'],
    topic: 'model',
    kind: 'value',
    value: 'NAME',
    read: filledText,
    meaning: 'Switch to this model after the first is overloaded three times in a row',
  },
  script: {
    names: ['--script'],
    topic: 'model',
    kind: 'value',
    value: 'FILE',
    read: filledText,
    meaning: 'Use a scripted model: answers from a file, served over HTTP on this machine, without a key',
  },
  settings: {
    names: ['--settings'],
    topic: 'model',
    kind: 'value',
    value: 'FILE',
    read: filledText,
    alsoOf: ['inspect', 'replay', 'report', 'what-if', 'why'],
    meaning: 'Load settings from this file, or from JSON given here; they override project and user settings',
  },
  betas: {
    names: ['--betas'],
    topic: 'model',
    kind: 'list',
    value: 'NAMES',
    read: list,
    takesMore: isBetaName,
    meaning: 'Request these beta features of the Messages API',
  },
  maxThinkingTokens: {
    names: ['--max-thinking-tokens'],
    topic: 'model',
    kind: 'value',
    value: 'N',
    read: thinkingTokens,
    meaning: 'Limit the thinking tokens of a reply; 0 disables thinking',
  },
  effort: {
    names: ['--effort'],
    topic: 'model',
    kind: 'value',
    value: 'LEVEL',
    read: choice(efforts),
    meaning: 'Set how much the model thinks: low, medium, high, xhigh or max',
  },
  systemPrompt: {
    names: ['--system-prompt'],
    topic: 'model',
    kind: 'value',
    value: 'TEXT',
    read: text,
    meaning: 'Replace the built-in system prompt with this text',
  },
  systemPromptFile: {
    names: ['--system-prompt-file'],
    topic: 'model',
    kind: 'value',
    value: 'FILE',
    read: filledText,
    meaning: 'Replace the built-in system prompt with the content of this file',
  },
  appendSystemPrompt: {
    names: ['--append-system-prompt'],
    topic: 'model',
    kind: 'value',
    value: 'TEXT',
    read: text,
    meaning: 'Append this text to the system prompt',
  },
  appendSystemPromptFile: {
    names: ['--append-system-prompt-file'],
    topic: 'model',
    kind: 'value',
    value: 'FILE',
    read: filledText,
    meaning: 'Append the content of this file to the system prompt',
  },
  settingSources: {
    names: ['--setting-sources'],
    topic: 'model',
    kind: 'list',
    value: 'LIST',
    read: sources,
    alsoOf: ['inspect', 'replay', 'report', 'trust', 'what-if', 'why'],
    meaning:
      'Read only these settings files (default: user,project,local; "" for none). Naming project trusts the folder for this run',
  },
  smallModel: {
    names: ['--small-model'],
    topic: 'model',
    kind: 'value',
    value: 'NAME',
    read: filledText,
    meaning: "Set the model for stages after a run and for questions about web pages (default: the session's model)",
  },
  thinking: {
    names: ['--thinking'],
    topic: 'model',
    kind: 'value',
    value: 'HOW',
    read: choice(thinkings),
    meaning: 'Control thinking: adaptive (the model decides), enabled (up to --max-thinking-tokens), or disabled',
  },
  taskBudget: {
    names: ['--task-budget'],
    topic: 'model',
    kind: 'value',
    value: 'N',
    read: tokens,
    meaning: 'Tell the model how many tokens it has for the task; advisory (use --max-tokens to enforce a limit)',
  },
}

/** Betas contain a date; anything else is the prompt. */
function isBetaName(argument: string): boolean {
  return /^[a-z\d-]+-\d{4}-\d{2}-\d{2}$/.test(argument)
}

const settingSources = ['user', 'project', 'local'] as const

/** An empty list means no sources, so it must not become an absent value. */
function sources(given: string): Reading<readonly string[]> {
  if (given.trim() === '') return { value: ['none'] }
  const read = list(given)
  if ('expected' in read) return read
  const wrong = read.value.find((name) => !settingSources.some((source) => source === name))
  if (wrong === undefined) return read
  return { expected: `a list of ${settingSources.join(', ')}, or ""`, meant: nearest(wrong, settingSources) }
}
