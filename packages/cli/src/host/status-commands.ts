import type { Session } from '@halting/core/session'
import type { JsonObject, MessageContent } from '@halting/core'

/** Commands that the program answers without a model (spec R-HOST-20). `compact` is one of them only while the conversation is empty. */
export const statusCommands = [
  { name: 'compact', description: 'Compact the conversation', argumentHint: '[what to keep]' },
  { name: 'context', description: 'Show what fills the context window', argumentHint: '' },
  { name: 'cost', description: 'Show what the last run and the session cost', argumentHint: '' },
  { name: 'goal', description: 'Show the goals, or set one that a model judges', argumentHint: '[TEXT | off]' },
  { name: 'limits', description: 'Show the limits, or set one', argumentHint: '[turns|usd|tokens|time N]' },
  { name: 'until', description: 'Show the commands that must pass before a run is done', argumentHint: '' },
  { name: 'why', description: 'Explain why the last run stopped and what it used', argumentHint: '' },
] as const

export type StatusCommandName = (typeof statusCommands)[number]['name']

export interface StatusCommand {
  readonly name: StatusCommandName
  readonly argument: string
}

/** The status command in a message of the user; undefined for any other message. */
export function statusCommandOf(
  content: MessageContent,
  { snapshot }: Pick<Session, 'snapshot'>,
): StatusCommand | undefined {
  const [, word, argument = ''] = /^\s*\/([a-z]+)(?:\s+([\s\S]*))?$/.exec(onlyText(content)) ?? []
  const command = statusCommands.find(({ name }) => name === word)
  if (command === undefined || (command.name === 'compact' && !isEmpty(snapshot))) return undefined
  return { name: command.name, argument: argument.trim() }
}

function isEmpty({ status, last, canResume }: Session['snapshot']): boolean {
  return status === 'idle' && last === undefined && !canResume
}

/** The status commands, then the commands of people and servers. A status command hides another one of the same name. */
export function withStatusCommands(customCommands: readonly JsonObject[]): readonly JsonObject[] {
  const builtinNames = new Set<unknown>(statusCommands.map(({ name }) => name))
  return [
    ...statusCommands.map((command) => ({ ...command })),
    ...customCommands.filter(({ name }) => !builtinNames.has(name)),
  ]
}

/** The text of a message that is a single text, as SDKs send prompts; '' for anything else. */
export function onlyText(content: MessageContent): string {
  if (typeof content === 'string') return content
  const [first, ...others] = content
  return others.length === 0 && first?.type === 'text' ? first.text : ''
}
