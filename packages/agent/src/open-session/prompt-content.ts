import { commandIn } from '../instructions/expand-prompt.ts'
import { loadMentions } from '../instructions/mentions.ts'
import type { PromptFile } from '../instructions/prompt-files.ts'
import type { ContentBlock, MessageContent } from '@halting/core'
import type { SessionPorts } from './ports.ts'
import type { PromptPart } from './live-session.ts'
import type { Briefing } from './read-briefing.ts'
import { modelOf, type RunSettings } from './run-settings.ts'
import type { Toolbox } from './toolbox.ts'

// Loaded only if a prompt begins with a slash or has an @.

/** A prompt with expanded commands and embedded files. */
interface PreparedPrompt {
  readonly text: string
  /** Blocks with the contents of mentioned files. */
  readonly blocks: readonly ContentBlock[]
  readonly notes: readonly string[]
}

/** The command that a prompt invokes; undefined if it invokes none. */
function promptFileFor(prompt: string, briefing: Briefing | undefined): PromptFile | undefined {
  const command = commandIn(prompt)
  return command === undefined ? undefined : briefing?.prompts.commands.find(({ name }) => name === command.name)
}

// Spec R-CMD-1, R-MENTION-1.
/** Expands the command of a prompt and embeds the files that it mentions. */
async function preparePrompt(
  prompt: string,
  briefing: Briefing | undefined,
  { workspace, permissions }: Toolbox,
  signal: AbortSignal,
): Promise<PreparedPrompt> {
  const command = commandIn(prompt)
  const file = promptFileFor(prompt, briefing)
  const notes: string[] = []
  let expanded = { text: prompt, authoredText: prompt }
  if (command !== undefined && command.name === 'compact') return { text: prompt, blocks: [], notes }
  if (file !== undefined && briefing !== undefined) {
    const { name, path, inPlaceOf } = file
    if (inPlaceOf !== undefined)
      notes.push(`/${name} is the project's command (${path}); yours (${inPlaceOf}) is hidden.`)
    const made = await briefing.expand(file, command?.given ?? '', signal)
    notes.push(...made.notes)
    expanded = made
  } else if (command !== undefined && !command.name.startsWith('mcp__')) {
    const known = briefing?.prompts.commands.map(({ name }) => `/${name}`) ?? []
    const there = known.length === 0 ? '' : ` Commands: ${known.slice(0, 20).join(', ')}.`
    notes.push(`Unknown command /${command.name}; sending it as a prompt.${there}`)
  }
  const { blocks, notes: more } = await loadMentions(expanded.authoredText, workspace, permissions, signal)
  return { text: expanded.text, blocks, notes: [...notes, ...more] }
}

// Spec R-CMD-5.
/** The model that a command requests. */
export async function modelOfCommand(
  prompt: string,
  { env, settings: { aiSdk } }: Pick<RunSettings, 'env' | 'settings'>,
  briefing: Briefing | undefined,
  { note, wordNotice }: Pick<SessionPorts, 'note' | 'wordNotice'>,
): Promise<string | undefined> {
  const command = promptFileFor(prompt, briefing)
  if (briefing === undefined || command === undefined) return undefined
  const notes: string[] = []
  const modelName = await briefing.modelOf(command, notes)
  const named = { ...(modelName !== undefined && { model: modelName }), ...(aiSdk !== undefined && { aiSdk }) }
  const model = modelOf(named, env, (message) => notes.push(message))
  for (const text of notes) note(wordNotice({ kind: 'prompt', text }))
  return model
}

/** The content of a prompt: its expanded command and mentioned files. Piped input is never a command. */
export async function contentOf(
  parts: readonly PromptPart[],
  rest: string,
  briefing: Briefing | undefined,
  toolbox: Toolbox,
  { note, wordNotice }: Pick<SessionPorts, 'note' | 'wordNotice'>,
): Promise<MessageContent> {
  const { marked, unmarked } = withMarks(parts)
  const { text, blocks, notes } = await preparePrompt(marked, briefing, toolbox, new AbortController().signal)
  for (const text of notes) note(wordNotice({ kind: 'prompt', text: unmarked(text) }))
  const { redact = (shown: string) => shown } = toolbox.workspace
  const whole = redact(unmarked(text) + rest)
  if (blocks.length === 0) return whole
  const redacted = blocks.map((block) => (block.type === 'text' ? { ...block, text: redact(block.text) } : block))
  return [{ type: 'text', text: whole }, ...redacted]
}

/**
 * Replaces names of attachments by placeholders while mentions are searched: a name may contain an `@`, and counts as
 * one word in the arguments of a command.
 */
function withMarks(parts: readonly PromptPart[]): {
  readonly marked: string
  readonly unmarked: (text: string) => string
} {
  const names = new Map<string, string>()
  const marked = parts.map(({ text, isName }) => {
    if (!isName) return text
    const mark = `\`${crypto.randomUUID()}\``
    names.set(mark, text)
    return mark
  })
  return {
    marked: marked.join(''),
    unmarked: (text) => text.replaceAll(/`[\da-f-]{36}`/g, (mark) => names.get(mark) ?? mark),
  }
}
