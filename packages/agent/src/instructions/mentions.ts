import { join } from 'node:path'
import { AgentState, type AnyTool, type ContentBlock, type Permissions } from '@halting/core'
import { codeOf, blocksOf, headOf, isAgentTool, textOf } from '@halting/core/adapters'
import { firstEntries, type FirstEntries, statOf, resolveToolPath } from '@halting/policy/files'
import { realPath } from '@halting/journal/files'
import { createReadTool } from '../tools/read.ts'
import type { Workspace } from '../tools/workspace.ts'
import { spellingsOf } from './imports.ts'
import * as texts from './prompt-texts.ts'
import { whyNotAllowed } from './prompt-command.ts'

/** `@path` in a prompt, with its line range. */
export interface Mention {
  readonly text: string
  readonly path: string
  readonly firstLine?: number
  readonly lastLine?: number
}

/**
 * Finds `@src/a.ts`, `@src/a.ts#20-45` and `@"a name with blanks"`: at the beginning, and after white space or
 * brackets.
 */
export function mentionsIn(prompt: string): readonly Mention[] {
  const found = new Map<string, Mention>()
  for (const [, text = '', quoted, bare = ''] of prompt.matchAll(
    /(?:^|[\s(])(@(?:"([^"\n]+)"(?:#L?\d+(?:-L?\d+)?)?|(\S+)))/g,
  )) {
    const path = quoted === undefined ? bare : text.slice(1).replaceAll('"', '')
    found.set(text, { ...withLines(path), text })
  }
  return [...found.values()].slice(0, maxMentions)
}

const maxMentions = 20

function withLines(reference: string): Omit<Mention, 'text'> {
  const [, path, first, last] = /^(.+?)#L?(\d+)(?:-L?(\d+))?[.,;:!?)\]}]*$/.exec(reference) ?? []
  if (path === undefined) return { path: reference }
  const firstLine = Math.max(1, Number(first))
  return { path, firstLine, lastLine: last === undefined ? firstLine : Math.max(firstLine, Number(last)) }
}

/** The content that mentioned files and resources add to a prompt. */
export interface MentionedContent {
  /** Blocks to append to the prompt. */
  readonly blocks: readonly ContentBlock[]
  /** Notes for the user: missing files, and files that must not be read. */
  readonly notes: readonly string[]
}

const maxCharacters = 100_000

// Spec R-MENTION-1.
/** Loads mentioned files and resources as Read would show them, under the permission rules of Read. */
export async function loadMentions(
  prompt: string,
  workspace: Workspace,
  permissions: Permissions,
  signal: AbortSignal,
): Promise<MentionedContent> {
  const blocks: ContentBlock[] = []
  const notes: string[] = []
  const tool: AnyTool = createReadTool(workspace)
  let left = maxCharacters
  for (const mention of mentionsIn(prompt)) {
    const path = placeOf(mention.path, workspace.cwd)
    if (path === undefined) {
      notes.push(`${mention.text}: no such file or folder. Sent as written.`)
      continue
    }
    const input = { file_path: path, ...rangeOf(mention) }
    const callId = `mention-${blocks.length + notes.length}`
    const refusal = await whyNotAllowed(
      { call: { type: 'tool_use', id: callId, name: 'Read', input }, tool, readOnly: true },
      permissions,
    )
    if (refusal !== undefined) {
      notes.push(`${mention.text} was not added: ${refusal}`)
      continue
    }
    if (left <= 0) {
      notes.push(`${mention.text} was not added: the other mentions already have ${maxCharacters} characters.`)
      continue
    }
    const isFolder = statOf(path)?.isDirectory() === true
    const content = isFolder ? listing(path, workspace) : await contentOf(tool, input, callId, signal)
    if (content.kind === 'failed') {
      notes.push(`${mention.text} was not added: ${content.text}`)
      continue
    }
    const redacted = content.blocks.map((block) =>
      block.type === 'text' ? { ...block, text: cut(block.text, left) } : block,
    )
    left -= textOf(redacted).length
    const head = isFolder ? texts.mentionedFolder(path) : texts.mentionedFile(path, linesOf(mention))
    blocks.push({ type: 'text', text: head }, ...redacted)
  }
  return { blocks, notes }
}

function linesOf({ firstLine, lastLine }: Mention): Parameters<typeof texts.mentionedFile>[1] {
  return firstLine === undefined || lastLine === undefined ? undefined : { first: firstLine, last: lastLine }
}

function cut(text: string, most: number): string {
  return text.length <= most ? text : `${headOf(text, most)}${texts.mentionCut}`
}

function placeOf(named: string, cwd: string): string | undefined {
  return spellingsOf(named)
    .filter((spelling) => !spelling.includes('\0'))
    .map((spelling) => resolveToolPath(spelling, cwd))
    .find((path) => statOf(path) !== undefined)
}

function rangeOf({ firstLine, lastLine }: Mention): { readonly offset?: number; readonly limit?: number } {
  if (firstLine === undefined || lastLine === undefined) return {}
  return { offset: firstLine, limit: lastLine - firstLine + 1 }
}

type Content =
  | { readonly kind: 'shown'; readonly blocks: readonly ContentBlock[] }
  | { readonly kind: 'failed'; readonly text: string }

async function contentOf(tool: AnyTool, input: unknown, callId: string, signal: AbortSignal): Promise<Content> {
  if (isAgentTool(tool)) throw new Error('Read is not an agent tool.')
  const context = {
    callId,
    toolName: 'Read',
    signal,
    idempotencyKey: callId,
    state: AgentState.empty(),
    progress: () => undefined,
  }
  // Read accepts this input.
  const output = await tool.execute(input as never, context)
  const { content, isError = false } = typeof output === 'string' ? { content: output } : output
  const blocks = blocksOf(content)
  return isError ? { kind: 'failed', text: textOf(blocks) } : { kind: 'shown', blocks }
}

const maxNames = 200
/** Maximum number of names that are read from a folder. */
const maxEntries = 10_000

function listing(path: string, workspace: Workspace): Content {
  const found = entriesOf(path)
  if ('code' in found) return { kind: 'failed', text: texts.unreadableFolder(found.code) }
  const real = realPath(path)
  const names = found.entries
    .filter(({ name }) => !workspace.hides(join(path, name)))
    .filter(
      (entry) => !workspace.hides(entry.isSymbolicLink() ? realPath(join(path, entry.name)) : join(real, entry.name)),
    )
    .map((entry) => entry.name.replaceAll(/\p{Cc}/gu, '?') + (entry.isDirectory() ? '/' : ''))
    .toSorted()
  const left = names.length - maxNames
  const more = found.isAll ? texts.moreNames(left) : texts.unreadNames(maxEntries)
  const text = [...names.slice(0, maxNames), ...(left > 0 || !found.isAll ? [more] : [])].join('\n')
  return { kind: 'shown', blocks: [{ type: 'text', text: text === '' ? texts.emptyFolder : text }] }
}

function entriesOf(path: string): FirstEntries | { readonly code: string } {
  try {
    return firstEntries(path, maxEntries)
  } catch (thrown) {
    return { code: codeOf(thrown) ?? 'unknown' }
  }
}
