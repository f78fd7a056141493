import { readFileSync, realpathSync, statSync } from 'node:fs'
import { isAbsolute, join, sep } from 'node:path'
import type { ToolCallContent, ToolCallLocation, ToolKind } from '@agentclientprotocol/sdk'
import { resolveToolPath } from '@halting/policy/files'
import { fieldsOf } from './fields.ts'
import { oneLine } from '../io/figures.ts'
import { mcpNameOf } from '../io/mcp-name.ts'
import { revealHidden } from '../io/reveal-hidden.ts'
import {
  patchFileTitle,
  patchToolName,
  type PatchFileView,
  patchFileViews,
  hunkSide,
} from '../frontends/patch-files.ts'
import { displayPath } from '../io/display-path.ts'

/** What an editor shows of a call, based on its name and input. */
export interface ToolView {
  readonly title: string
  readonly kind: ToolKind
  readonly locations: ToolCallLocation[]
  /** What the call will change. */
  readonly content: ToolCallContent[]
}

const titleWidth = 200
/** Maximum size of a file whose old content is shown for a Write. */
const maxBytesBefore = 512 * 1024

/** The title of a call about the task list. */
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

/** Reads the fields of a call's input for display. */
interface InputReader {
  /** A text field; '' for anything else. */
  readonly field: (key: string) => string
  /** The absolute path in a field; '' for none. */
  readonly path: (key: string) => string
  /** The path in a field as people read it, relative to the working directory; '' for none. */
  readonly from: (key: string) => string
  /** The view with the path in a field as its location. */
  readonly at: (key: string, view: ToolView, line?: number) => ToolView
  /** The text fields that are not empty, each as a code block. */
  readonly texts: (...keys: readonly string[]) => ToolCallContent[]
}

function inputReader(fields: Readonly<Record<string, unknown>>, cwd: string): InputReader {
  const field = (key: string): string => {
    const value = fields[key]
    return typeof value === 'string' ? value : ''
  }
  const path = (key: string): string => (field(key) === '' ? '' : resolveToolPath(field(key), cwd))
  return {
    field,
    path,
    from: (key) => (field(key) === '' ? '' : displayPath(field(key), cwd)),
    at: (key, view, line) =>
      path(key) === '' ? view : { ...view, locations: [{ path: path(key), ...(line !== undefined && { line }) }] },
    texts: (...keys) =>
      keys
        .map(field)
        .filter((text) => text !== '')
        .map((text) => textContent(fenced(text))),
  }
}

function plainView(kind: ToolKind, title: string): ToolView {
  return { title: titleText(title), kind, locations: [], content: [] }
}

/** What an editor shows of a call. `cwd`: the directory that relative paths of the call start from; editors receive absolute paths only. */
export function toolViewOf(name: string, input: unknown, cwd: string): ToolView {
  const fields = fieldsOf(input)
  const reader = inputReader(fields, cwd)
  const { field, from, at, texts } = reader
  switch (name) {
    case 'Read': {
      const { offset } = fields
      const line = typeof offset === 'number' && offset >= 1 ? Math.floor(offset) : undefined
      const title = `Read ${from('file_path')}${line === undefined ? '' : ` from line ${line}`}`
      return at('file_path', plainView('read', title), line)
    }
    case 'Edit':
    case 'Write':
      return fileChangeView(name, reader, cwd)
    case patchToolName:
      return patchView(fields, cwd)
    case 'NotebookEdit':
      return at('notebook_path', {
        ...plainView('edit', `Edit ${from('notebook_path')}`),
        content: cellContent(fields, field('new_source')),
      })
    case 'Bash':
      return commandView(reader)
    case 'Wait':
      return at('file_path', {
        ...plainView(...waitOf(fields, field, from('file_path'))),
        content: texts('command', 'pattern'),
      })
    case 'Glob':
    case 'Grep': {
      const where = [from('path'), field('glob'), field('type')].filter((text) => text !== '').join(' ')
      return at('path', plainView('search', searchTitle(name, field('pattern'), where)))
    }
    case 'WebFetch':
      return { ...plainView('fetch', `Fetch ${field('url')}`), content: texts('url', 'prompt') }
    case 'WebSearch':
      return { ...plainView('fetch', `Search the web for "${field('query')}"`), content: wholeInput(fields) }
    case 'Agent':
    case 'Task':
      return {
        ...plainView(
          'think',
          `Agent ${[field('subagent_type'), field('description')].filter(Boolean).join(': ')}`.trim(),
        ),
        content: texts('prompt'),
      }
    case 'TodoWrite':
    case 'TaskCreate':
    case 'TaskUpdate':
    case 'TaskList':
    case 'TaskGet':
      return { ...plainView('think', taskListTitle(name, field)), content: texts('description') }
    case 'EnterPlanMode':
      return plainView('switch_mode', 'Enter plan mode')
    case 'ExitPlanMode': {
      const view = plainView('switch_mode', 'Present the plan')
      return field('plan') === '' ? view : { ...view, content: [textContent(field('plan'))] }
    }
    case 'Skill':
      return { ...plainView('other', `Use the skill ${field('skill')}`), content: texts('args') }
    case 'AskUserQuestion':
      return plainView('other', 'Ask a question')
    default:
      return { ...plainView('other', otherTitle(name)), content: wholeInput(fields) }
  }
}

/** An edit or a new content of one file, as a diff. */
function fileChangeView(name: 'Edit' | 'Write', { field, path, from, at }: InputReader, cwd: string): ToolView {
  const view = at('file_path', plainView('edit', `${name} ${from('file_path')}`))
  const file = path('file_path')
  if (file === '') return view
  const [oldText, newText] =
    name === 'Edit' ? [field('old_string'), field('new_string')] : [textBefore(file, cwd), field('content')]
  return { ...view, content: [{ type: 'diff', path: file, oldText, newText }] }
}

/** A command: in full if the title had to shorten it, and its description. */
function commandView({ field }: InputReader): ToolView {
  const title = `Run ${field('command')}`
  const view = plainView('execute', title)
  const parts = [view.title === title ? '' : fenced(field('command'), 'sh'), field('description')]
  return { ...view, content: parts.filter((text) => text !== '').map(textContent) }
}

/** The remaining input, then the source of the cell. */
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
  const title = titleText(whole)
  if (files.length === 0) return { title, kind: 'edit', locations: [], content: wholeInput(fields) }
  const locations = files.map((file) => ({ path: resolveToolPath(file.target ?? file.path, cwd) }))
  // A diff does not show that a file is moved or deleted, so the title does.
  const titleList = title === whole ? [] : [textContent(fenced(titles.join('\n')))]
  return { title, kind: 'edit', locations, content: [...titleList, ...files.map((file) => patchDiff(file, cwd))] }
}

/** The change of one file of a patch: its hunks, or the whole file if it is added or deleted. */
function patchDiff({ kind, path, target, hunks }: PatchFileView, cwd: string): ToolCallContent {
  const full = resolveToolPath(path, cwd)
  const before = kind === 'add' ? null : kind === 'delete' ? (textBefore(full, cwd) ?? '') : hunkSide(hunks, '-')
  const diff = {
    type: 'diff',
    path: resolveToolPath(target ?? path, cwd),
    oldText: before,
    newText: hunkSide(hunks, '+'),
  } as const
  return diff
}

/** The kind and title of a call of `Wait`. */
function waitOf(
  { seconds }: ReturnType<typeof fieldsOf>,
  field: (key: string) => string,
  file: string,
): readonly [ToolKind, string] {
  if (field('command') !== '') return ['execute', `Wait for \`${field('command')}\``]
  const what = field('task_id') || file || (typeof seconds === 'number' ? `${seconds} s` : '')
  return ['other', `Wait for ${what}`]
}

function titleText(title: string): string {
  return oneLine(revealHidden(title), titleWidth) || 'Tool call'
}

export function textContent(text: string): ToolCallContent {
  return { type: 'content', content: { type: 'text', text } }
}

/** Every field on its own line, as JSON, so that the value of one field cannot imitate another. */
function wholeInput(fields: Readonly<Record<string, unknown>>): ToolCallContent[] {
  const lines = Object.entries(fields).map(([key, value]) => `  ${JSON.stringify(key)}: ${JSON.stringify(value)}`)
  return lines.length === 0 ? [] : [textContent(fenced(`{\n${lines.join(',\n')}\n}`, 'json'))]
}

/** Text as a code block: all of what a title leaves out. Nobody should approve a command without having seen its end (spec R-ACP-7a). */
export function fenced(text: string, language = ''): string {
  const visible = revealHidden(text)
  const fence = '`'.repeat(Math.max(3, ...[...visible.matchAll(/`+/g)].map(([ticks]) => ticks.length + 1)))
  return `${fence}${language}\n${visible}\n${fence}`
}

export function absolute(path: string, cwd: string): string {
  return isAbsolute(path) ? path : join(cwd, path)
}

/** The content of a file before it is written; null for a new file, or one that is not shown. */
function textBefore(path: string, cwd: string): string | null {
  try {
    const real = realpathSync(path)
    // Other paths may be devices or pipes, which could block the reader forever.
    if (!real.startsWith(realpathSync(cwd) + sep)) return null
    const stats = statSync(real)
    if (!stats.isFile() || stats.size > maxBytesBefore) return null
    return new TextDecoder('utf-8', { fatal: true }).decode(readFileSync(real))
  } catch {
    return null
  }
}
