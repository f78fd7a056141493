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
    group: 'model',
    kind: 'value',
    value: 'NAME',
    read: filledText,
    meaning: 'The model to ask, such as claude-sonnet-5-5, gpt-5, ollama/qwen3 or openai-compatible/NAME',
  },
  fallbackModel: {
    names: ['--fallback-model'],
    group: 'model',
    kind: 'value',
    value: 'NAME',
    read: filledText,
    meaning: 'Takes over when the model is overloaded three times in a row',
  },
  script: {
    names: ['--script'],
    group: 'model',
    kind: 'value',
    value: 'FILE',
    read: filledText,
    meaning: 'A scripted model instead of a real one: answers from a file, over HTTP on this machine, without a key',
  },
  settings: {
    names: ['--settings'],
    group: 'model',
    kind: 'value',
    value: 'FILE',
    read: filledText,
    alsoOf: ['inspect', 'replay', 'report', 'what-if', 'why'],
    meaning: 'Settings from this file, or JSON itself; they go before those of the project and your own',
  },
  betas: {
    names: ['--betas'],
    group: 'model',
    kind: 'list',
    value: 'NAMES',
    read: list,
    takesMore: isBetaName,
    meaning: 'Beta features of the Messages API to ask for',
  },
  maxThinkingTokens: {
    names: ['--max-thinking-tokens'],
    group: 'model',
    kind: 'value',
    value: 'N',
    read: thinkingTokens,
    meaning: 'Tokens of a reply that the model may think with; 0 for none',
  },
  effort: {
    names: ['--effort'],
    group: 'model',
    kind: 'value',
    value: 'LEVEL',
    read: choice(efforts),
    meaning: 'How much the model is to think: low, medium, high, xhigh or max',
  },
  systemPrompt: {
    names: ['--system-prompt'],
    group: 'model',
    kind: 'value',
    value: 'TEXT',
    read: text,
    meaning: 'In place of our system prompt',
  },
  systemPromptFile: {
    names: ['--system-prompt-file'],
    group: 'model',
    kind: 'value',
    value: 'FILE',
    read: filledText,
    meaning: 'The same, from a file',
  },
  appendSystemPrompt: {
    names: ['--append-system-prompt'],
    group: 'model',
    kind: 'value',
    value: 'TEXT',
    read: text,
    meaning: 'After the system prompt',
  },
  appendSystemPromptFile: {
    names: ['--append-system-prompt-file'],
    group: 'model',
    kind: 'value',
    value: 'FILE',
    read: filledText,
    meaning: 'The same, from a file',
  },
  settingSources: {
    names: ['--setting-sources'],
    group: 'model',
    kind: 'list',
    value: 'LIST',
    read: sources,
    alsoOf: ['inspect', 'replay', 'report', 'trust', 'what-if', 'why'],
    meaning:
      'Whose settings files are read: user,project,local unless said otherwise, "" for none. Naming project trusts the folder for this run',
  },
  smallModel: {
    names: ['--small-model'],
    group: 'model',
    kind: 'value',
    value: 'NAME',
    read: filledText,
    meaning:
      'The model for what comes after a run and for questions about web pages; that of the session unless said otherwise',
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
}

/** Betas are dated: what looks otherwise is the prompt. */
function isBetaName(argument: string): boolean {
  return /^[a-z\d-]+-\d{4}-\d{2}-\d{2}$/.test(argument)
}

const settingSources = ['user', 'project', 'local'] as const

/** An empty list means: none. It must not be lost on the way. */
function sources(given: string): Reading<readonly string[]> {
  if (given.trim() === '') return { value: ['none'] }
  const read = list(given)
  if ('expected' in read) return read
  const wrong = read.value.find((name) => !settingSources.some((source) => source === name))
  if (wrong === undefined) return read
  return { expected: `a list of ${settingSources.join(', ')}, or ""`, meant: nearest(wrong, settingSources) }
}
