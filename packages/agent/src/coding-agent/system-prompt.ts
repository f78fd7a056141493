import { patchToolName } from '@halting/policy/files'
import type { ToolProfile } from '@halting/policy/settings'
import type { Place } from './surroundings.ts'
import * as texts from './system-prompt-texts.ts'

/** Inputs of the system prompt. */
export interface Surroundings extends Place {
  /** Names of the available tools. */
  readonly tools: readonly string[]
  readonly profile?: ToolProfile | undefined
}

/** The system prompt of the coding agent. */
export function systemPrompt({ tools, profile, ...place }: Surroundings): string {
  if (profile === 'small') return `${texts.smallPrompt}\n\n${surroundingsText(place)}`
  const rules = [
    ...general,
    tools.includes('AskUserQuestion') ? texts.someoneAnswers : texts.nobodyAnswers,
    ...(editors.some((name) => tools.includes(name)) ? editing : []),
    ...(tools.includes('Bash') ? commands : []),
  ]
  return [texts.role, rules.map((rule) => `- ${rule}`).join('\n'), surroundingsText(place)].join('\n\n')
}

export function surroundingsText({ cwd, directories, platform, date }: Place): string {
  const others = directories.filter((directory) => directory !== cwd)
  return [
    texts.workingDirectory(cwd),
    ...(others.length === 0 ? [] : [texts.moreDirectories(others)]),
    texts.platformLine(platform),
    texts.dateLine(date),
  ].join('\n')
}

const editors = ['Edit', 'Write', patchToolName]

const general = [
  texts.readFirst,
  texts.scope,
  texts.parallelCalls,
  texts.deniedCalls,
  texts.repeatedFailures,
  texts.untrustedContent,
  texts.finalAnswer,
]
const editing = [texts.smallEdits, texts.secretsAndCommits]
const commands = [texts.checks, texts.safeCommands]
