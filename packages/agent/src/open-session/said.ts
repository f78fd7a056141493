import { commandIn } from '../instructions/expand-prompt.ts'
import { mentioned } from '../instructions/mentions.ts'
import type { WrittenPrompt } from '../instructions/commands.ts'
import type { ContentBlock, MessageContent } from '@halting/core'
import type { SessionPorts } from './ports.ts'
import type { SaidPart } from './live-session.ts'
import type { Briefing } from './read-briefing.ts'
import { modelOf, type RunSettings } from './run-settings.ts'
import type { Toolbox } from './toolbox.ts'

// Loaded only if a prompt begins with a slash or has an @.

/** A prompt with expanded commands and embedded files. */
interface Said {
  readonly text: string
  /** Files that it embeds. */
  readonly blocks: readonly ContentBlock[]
  readonly notes: readonly string[]
}

/** The command that a prompt invokes; undefined if it invokes none. */
function writtenFor(prompt: string, briefing: Briefing | undefined): WrittenPrompt | undefined {
  const command = commandIn(prompt)
  return command === undefined ? undefined : briefing?.prompts.commands.find(({ name }) => name === command.name)
}

// Spec R-CMD-1, R-MENTION-1.
/** Expands the command of a prompt and embeds the files that it mentions. */
async function prepareSaid(
  prompt: string,
  briefing: Briefing | undefined,
  { workspace, permissions }: Toolbox,
  signal: AbortSignal,
): Promise<Said> {
  const command = commandIn(prompt)
  const written = writtenFor(prompt, briefing)
  const notes: string[] = []
  let said = { text: prompt, written: prompt }
  if (command !== undefined && command.name === 'compact') return { text: prompt, blocks: [], notes }
  if (written !== undefined && briefing !== undefined) {
    const { name, path, inPlaceOf } = written
    if (inPlaceOf !== undefined)
      notes.push(`/${name} is the project's command (${path}); yours (${inPlaceOf}) is hidden.`)
    const made = await briefing.expand(written, command?.given ?? '', signal)
    notes.push(...made.notes)
    said = made
  } else if (command !== undefined && !command.name.startsWith('mcp__')) {
    const known = briefing?.prompts.commands.map(({ name }) => `/${name}`) ?? []
    const there = known.length === 0 ? '' : ` Commands: ${known.slice(0, 20).join(', ')}.`
    notes.push(`Unknown command /${command.name}; sending it as a prompt.${there}`)
  }
  const { blocks, notes: more } = await mentioned(said.written, workspace, permissions, signal)
  return { text: said.text, blocks, notes: [...notes, ...more] }
}

// Spec R-CMD-5.
/** The model that a command requests. */
export async function modelOfCommand(
  said: string,
  { env, settings: { aiSdk } }: Pick<RunSettings, 'env' | 'settings'>,
  briefing: Briefing | undefined,
  { note, wordNotice }: Pick<SessionPorts, 'note' | 'wordNotice'>,
): Promise<string | undefined> {
  const command = writtenFor(said, briefing)
  if (briefing === undefined || command === undefined) return undefined
  const notes: string[] = []
  const wanted = await briefing.modelOf(command, notes)
  const named = { ...(wanted !== undefined && { model: wanted }), ...(aiSdk !== undefined && { aiSdk }) }
  const model = modelOf(named, env, (message) => notes.push(message))
  for (const text of notes) note(wordNotice({ kind: 'prompt', text }))
  return model
}

/** The content of a prompt: its expanded command and mentioned files. Piped input is never a command. */
export async function contentOf(
  said: readonly SaidPart[],
  rest: string,
  briefing: Briefing | undefined,
  toolbox: Toolbox,
  { note, wordNotice }: Pick<SessionPorts, 'note' | 'wordNotice'>,
): Promise<MessageContent> {
  const { marked, unmarked } = withMarks(said)
  const { text, blocks, notes } = await prepareSaid(marked, briefing, toolbox, new AbortController().signal)
  for (const text of notes) note(wordNotice({ kind: 'prompt', text: unmarked(text) }))
  const { redact = (shown: string) => shown } = toolbox.workspace
  const whole = redact(unmarked(text) + rest)
  if (blocks.length === 0) return whole
  const shown = blocks.map((block) => (block.type === 'text' ? { ...block, text: redact(block.text) } : block))
  return [{ type: 'text', text: whole }, ...shown]
}

/**
 * Replaces names of attachments by placeholders while mentions are searched: a name may contain an `@`, and counts as
 * one word in the arguments of a command.
 */
function withMarks(said: readonly SaidPart[]): {
  readonly marked: string
  readonly unmarked: (text: string) => string
} {
  const names = new Map<string, string>()
  const marked = said.map(({ text, isName }) => {
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
