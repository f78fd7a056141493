import { readFileSync, realpathSync, statSync } from 'node:fs'
import { isAbsolute, join, sep } from 'node:path'
import type { ToolCallContent, ToolCallLocation, ToolKind } from '@agentclientprotocol/sdk'
import { calledPath } from '@halting/policy/files'
import { fieldsOf } from './fields.ts'
import { oneLine } from '../io/figures.ts'
import { mcpNameOf } from '../io/mcp-name.ts'
import { everyCharacter } from '../io/seen.ts'
import {
  patchFileTitle,
  patchToolName,
  type PatchFileView,
  patchFileViews,
  hunkSide,
} from '../frontends/patch-files.ts'
import { displayPath } from '../io/display-path.ts'

/** What an editor shows of a call, from its name and input alone. */
export interface ToolView {
  readonly title: string
  readonly kind: ToolKind
  readonly locations: ToolCallLocation[]
  /** What it will change. */
  readonly content: ToolCallContent[]
}

const titleWidth = 200
/** A file that is shown as it was before a Write. */
const largestBefore = 512 * 1024

/** What a call does with the task list. */
function taskListTitle(name: string, field: (key: string) => string): string {
  switch (name) {
    case 'TaskCreate':
      return `Add a task: ${field('subject')}`
    case 'TaskUpdate':
      return `Update task ${field('taskId')}`
    case 'TaskList':
      return 'List the tasks'
    case 'TaskGet':
      return `Show task ${field('taskId')}`
    default:
      return 'Update the todo list'
  }
}

/** @param cwd Where paths of the call are from: an editor is told absolute ones alone. */
export function toolViewOf(name: string, input: unknown, cwd: string): ToolView {
  const fields = fieldsOf(input)
  const field = (key: string): string => {
    const value = fields[key]
    return typeof value === 'string' ? value : ''
  }
  const path = (key: string): string => (field(key) === '' ? '' : calledPath(field(key), cwd))
  /** A path as people read it. */
  const from = (key: string): string => (field(key) === '' ? '' : displayPath(field(key), cwd))
  const plain = (kind: ToolKind, title: string): ToolView => ({ title: shown(title), kind, locations: [], content: [] })
  const at = (key: string, view: ToolView, line?: number): ToolView =>
    path(key) === '' ? view : { ...view, locations: [{ path: path(key), ...(line !== undefined && { line }) }] }
  const texts = (...keys: readonly string[]): ToolCallContent[] =>
    keys
      .map(field)
      .filter((text) => text !== '')
      .map((text) => textContent(fenced(text)))
  switch (name) {
    case 'Read': {
      const { offset } = fields
      const line = typeof offset === 'number' && offset >= 1 ? Math.floor(offset) : undefined
      const title = `Read ${from('file_path')}${line === undefined ? '' : ` from line ${line}`}`
      return at('file_path', plain('read', title), line)
    }
    case 'Edit': {
      const view = at('file_path', plain('edit', `Edit ${from('file_path')}`))
      const [oldText, newText] = [field('old_string'), field('new_string')]
      if (path('file_path') === '') return view
      return { ...view, content: [{ type: 'diff', path: path('file_path'), oldText, newText }] }
    }
    case 'Write': {
      const view = at('file_path', plain('edit', `Write ${from('file_path')}`))
      if (path('file_path') === '') return view
      const oldText = textBefore(path('file_path'), cwd)
      return { ...view, content: [{ type: 'diff', path: path('file_path'), oldText, newText: field('content') }] }
    }
    case patchToolName:
      return patchView(fields, cwd)
    case 'NotebookEdit':
      return at('notebook_path', {
        ...plain('edit', `Edit ${from('notebook_path')}`),
        content: cellContent(fields, field('new_source')),
      })
    case 'Bash': {
      const title = `Run ${field('command')}`
      const view = plain('execute', title)
      const told = [view.title === title ? '' : fenced(field('command'), 'sh'), field('description')]
      return { ...view, content: told.filter((text) => text !== '').map(textContent) }
    }
    case 'Wait':
      return at('file_path', {
        ...plain(...waitOf(fields, field, from('file_path'))),
        content: texts('command', 'pattern'),
      })
    case 'Glob':
    case 'Grep': {
      const where = [from('path'), field('glob'), field('type')].filter((text) => text !== '').join(' ')
      return at('path', plain('search', searchTitle(name, field('pattern'), where)))
    }
    case 'WebFetch':
      return { ...plain('fetch', `Fetch ${field('url')}`), content: texts('url', 'prompt') }
    case 'WebSearch':
      return { ...plain('fetch', `Search the web for "${field('query')}"`), content: wholeInput(fields) }
    case 'Agent':
    case 'Task':
      return {
        ...plain('think', `Agent ${[field('subagent_type'), field('description')].filter(Boolean).join(': ')}`.trim()),
        content: texts('prompt'),
      }
    case 'TodoWrite':
    case 'TaskCreate':
    case 'TaskUpdate':
    case 'TaskList':
    case 'TaskGet':
      return { ...plain('think', taskListTitle(name, field)), content: texts('description') }
    case 'EnterPlanMode':
      return plain('switch_mode', 'Enter plan mode')
    case 'ExitPlanMode': {
      const view = plain('switch_mode', 'Present the plan')
      return field('plan') === '' ? view : { ...view, content: [textContent(field('plan'))] }
    }
    case 'Skill':
      return { ...plain('other', `Use the skill ${field('skill')}`), content: texts('args') }
    case 'AskUserQuestion':
      return plain('other', 'Ask a question')
    default:
      return { ...plain('other', otherTitle(name)), content: wholeInput(fields) }
  }
}

/** The source of a cell as it is, below what else the call says. */
function cellContent(fields: Readonly<Record<string, unknown>>, source: string): ToolCallContent[] {
  const others = Object.fromEntries(Object.entries(fields).filter(([key]) => key !== 'new_source'))
  return [...wholeInput(others), ...(source === '' ? [] : [textContent(fenced(source))])]
}

function searchTitle(tool: 'Glob' | 'Grep', pattern: string, where: string): string {
  const what = tool === 'Glob' ? `Find files matching ${pattern}` : `Search for "${pattern}"`
  return where === '' ? what : `${what} in ${where}`
}

function otherTitle(tool: string): string {
  const called = mcpNameOf(tool)
  return called === undefined ? tool : `${called.tool} (MCP server ${called.server})`
}

/** A patch with a diff for each of its files. */
function patchView(fields: Readonly<Record<string, unknown>>, cwd: string): ToolView {
  const files = patchFileViews(fields)
  const titles = files.map((file) => patchFileTitle(file, (each) => displayPath(each, cwd)))
  const whole = `Patch ${titles.join(', ')}`
  const title = shown(whole)
  if (files.length === 0) return { title, kind: 'edit', locations: [], content: wholeInput(fields) }
  const locations = files.map((file) => ({ path: calledPath(file.target ?? file.path, cwd) }))
  // A diff does not say from where a file is moved, and that it is deleted.
  const told = title === whole ? [] : [textContent(fenced(titles.join('\n')))]
  return { title, kind: 'edit', locations, content: [...told, ...files.map((file) => patchDiff(file, cwd))] }
}

/** The change of one file of a patch: its hunks, or all of a file that is added or deleted. */
function patchDiff({ kind, path, target, hunks }: PatchFileView, cwd: string): ToolCallContent {
  const full = calledPath(path, cwd)
  const before = kind === 'add' ? null : kind === 'delete' ? (textBefore(full, cwd) ?? '') : hunkSide(hunks, '-')
  const diff = {
    type: 'diff',
    path: calledPath(target ?? path, cwd),
    oldText: before,
    newText: hunkSide(hunks, '+'),
  } as const
  return diff
}

/** Which kind a call of `Wait` is, and what it is about. */
function waitOf(
  { seconds }: ReturnType<typeof fieldsOf>,
  field: (key: string) => string,
  file: string,
): readonly [ToolKind, string] {
  if (field('command') !== '') return ['execute', `Wait for \`${field('command')}\``]
  const what = field('task_id') || file || (typeof seconds === 'number' ? `${seconds} s` : '')
  return ['other', `Wait for ${what}`]
}

function shown(title: string): string {
  return oneLine(everyCharacter(title), titleWidth) || 'Tool call'
}

export function textContent(text: string): ToolCallContent {
  return { type: 'content', content: { type: 'text', text } }
}

/** Every field on a line of its own, as JSON: what stands in one cannot look like another. */
function wholeInput(fields: Readonly<Record<string, unknown>>): ToolCallContent[] {
  const lines = Object.entries(fields).map(([key, value]) => `  ${JSON.stringify(key)}: ${JSON.stringify(value)}`)
  return lines.length === 0 ? [] : [textContent(fenced(`{\n${lines.join(',\n')}\n}`, 'json'))]
}

/** What a title has no room for, or leaves out: nobody says yes to a command whose end they have not seen (spec R-ACP-7a). */
export function fenced(text: string, language = ''): string {
  const shown = everyCharacter(text)
  const fence = '`'.repeat(Math.max(3, ...[...shown.matchAll(/`+/g)].map(([ticks]) => ticks.length + 1)))
  return `${fence}${language}\n${shown}\n${fence}`
}

export function absolute(path: string, cwd: string): string {
  return isAbsolute(path) ? path : join(cwd, path)
}

/** What a file of the folder is before it is written; null for one that is new, or is not shown. */
function textBefore(path: string, cwd: string): string | null {
  try {
    const real = realpathSync(path)
    // Elsewhere there are files that are none, and reading those may wait for ever.
    if (!real.startsWith(realpathSync(cwd) + sep)) return null
    const stats = statSync(real)
    if (!stats.isFile() || stats.size > largestBefore) return null
    return new TextDecoder('utf-8', { fatal: true }).decode(readFileSync(real))
  } catch {
    return null
  }
}
