import { isJsonObject, type ToolUseBlock } from '@halting/core/adapters'
import { changedPathsOf, patchedFilesOf, patchToolName } from '../files/patch-format.ts'
import { bothEnds } from '../files/paths.ts'
import { resolveToolPath } from '../files/look-alikes.ts'
import type { Access } from './rule-book.ts'
import { searchSubject, type SearchSubject } from './search-domains.ts'

/** The agent that runs if a call does not name an agent. */
export const generalAgentName = 'general-purpose'

/** What rules decide about: a part of a call. */
export type Subject =
  | { readonly kind: 'command'; readonly command: string }
  | {
      readonly kind: 'path'
      readonly path: string
      /** The path as named and its real path, resolved once for all decisions about the call. */
      readonly ends: readonly string[]
      readonly access: Access
      readonly isSearch: boolean
    }
  | { readonly kind: 'domain'; readonly host: string }
  | SearchSubject
  | { readonly kind: 'name'; readonly name: string }
  | { readonly kind: 'tool' }

/** The command of a call, for tools that run one. Does not access the disk. */
export function commandOf({ name, input }: ToolUseBlock): string | undefined {
  if (name !== 'Bash' && name !== 'Wait') return undefined
  const command = isJsonObject(input) ? input['command'] : undefined
  if (typeof command === 'string') return command
  return name === 'Bash' ? '' : undefined
}

// Spec R-RULE-2.
/** Reads the input as the tools do, so that what is judged is what will be opened and run. */
function subjectOf(call: ToolUseBlock, cwd: string): Subject {
  const input = isJsonObject(call.input) ? call.input : {}
  const field = (name: string): string | undefined => {
    const value = input[name]
    return typeof value === 'string' ? value : undefined
  }
  const about = (given: string | undefined, kind: Access['kind'], isSearch: boolean): Subject => {
    // Without a path the call is invalid, or searches the working directory.
    const path = resolveToolPath(given ?? '.', cwd)
    return { kind: 'path', path, ends: bothEnds(path), access: { kind, toolName: call.name }, isSearch }
  }
  const command = commandOf(call)
  if (command !== undefined) return { kind: 'command', command }
  switch (call.name) {
    case 'Wait':
      return field('file_path') === undefined ? { kind: 'tool' } : about(field('file_path'), 'read', false)
    case 'Read':
      return about(field('file_path'), 'read', false)
    case 'Glob':
    case 'Grep':
      return about(field('path'), 'read', true)
    case 'Edit':
    case 'Write':
      return about(field('file_path'), 'edit', false)
    case 'NotebookEdit':
      return about(field('notebook_path'), 'edit', false)
    case 'WebFetch':
      return { kind: 'domain', host: hostOf(field('url') ?? '') }
    case 'WebSearch':
      return searchSubject(input)
    case 'Agent':
    case 'Task':
      // Reads the name as the tool reads it.
      return { kind: 'name', name: field('subagent_type') || generalAgentName }
    case 'Skill':
      return { kind: 'name', name: field('skill') ?? '' }
    default:
      return { kind: 'tool' }
  }
}

/** The subjects of a call: one, or one for each path that a patch changes. */
export function subjectsOf(call: ToolUseBlock, cwd: string): Subjects {
  if (call.name !== patchToolName) return [subjectOf(call, cwd)]
  const subjects = changedPathsOf(patchedFilesOf(call.input)).map((changed): Subject => {
    const path = resolveToolPath(changed.path, cwd)
    const access: Access = {
      kind: 'edit',
      toolName: call.name,
      ...(changed.isNew && { asTool: 'Write' }),
      ...(changed.isMoved && { isCopied: true }),
    }
    return { kind: 'path', path, ends: bothEnds(path), access, isSearch: false }
  })
  const [first, ...others] = subjects
  // A text that is not a patch changes nothing.
  return first === undefined ? [{ kind: 'tool' }] : [first, ...others]
}

/** All subjects of a call; only calls of `apply_patch` have several. */
export type Subjects = readonly [Subject, ...Subject[]]

function hostOf(url: string): string {
  try {
    // A trailing dot does not change the name.
    return new URL(url).hostname.toLowerCase().replace(/\.$/, '')
  } catch {
    return ''
  }
}
