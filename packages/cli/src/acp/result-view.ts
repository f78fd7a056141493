import type { ToolCallContent, ToolCallLocation } from '@agentclientprotocol/sdk'
import type { MessageContent } from '@halting/core'
import { headOf } from '@halting/core/adapters'
import { resultFigure } from '../frontends/result-figure.ts'
import { fieldsOf } from './fields.ts'
import { blockForClient } from './prompt-content.ts'
import { absolute, fenced, textContent } from './tool-view.ts'
import { patchToolName } from '../frontends/patch-files.ts'

/** A successful call with its result. */
export interface SuccessfulCall {
  readonly name: string
  readonly title: string
  readonly content: MessageContent
  /** The structured result. */
  readonly details: unknown
}

/** The parts of a result that replace the view of the call. Absent parts stay unchanged. */
export interface ResultView {
  readonly title?: string
  readonly locations?: ToolCallLocation[]
  readonly content?: ToolCallContent[]
}

/** Maximum length of the text of a result; the model receives the whole text. */
const maxCharacters = 20_000
/** Maximum number of locations of one search; an editor in follow mode visits each. */
const maxPlaces = 20

/** What an editor shows of a successful call: a figure, locations, and the beginning of the result (spec R-ACP-3b). */
export function resultViewOf({ name, title, content, details }: SuccessfulCall, cwd: string): ResultView {
  const figure = resultFigure({ tool: name, content, details })
  const titled = figure === '' ? {} : { title: `${title} (${figure})` }
  switch (name) {
    case 'Edit':
    case 'Write':
    case 'NotebookEdit': {
      const line = changeLocation(details)
      return { ...titled, ...(line !== undefined && { locations: [line] }) }
    }
    case patchToolName: {
      const { files } = fieldsOf(details)
      const lines = (Array.isArray(files) ? files : []).flatMap((file) => changeLocation(file) ?? [])
      return { ...titled, ...(lines.length > 0 && { locations: lines }) }
    }
    // The plan shows the result of this tool.
    case 'TodoWrite':
    case 'TaskCreate':
    case 'TaskUpdate':
    case 'TaskList':
      return titled
    case 'Glob':
    case 'Grep': {
      const locations = placesOf(name, content, details).map(({ path, ...line }) => ({
        path: absolute(path, cwd),
        ...line,
      }))
      return { ...titled, ...(locations.length > 0 && { locations }), content: resultContent(name, content) }
    }
    default:
      return { ...titled, content: resultContent(name, content) }
  }
}

/** Results shown as code blocks, because an editor would read them as Markdown. */
const withOutput: ReadonlySet<string> = new Set(['Read', 'Bash', 'Glob', 'Grep', 'TaskOutput', 'Wait'])

/** The result that the model received, or the beginning of a long one. */
export function resultContent(name: string, content: MessageContent): ToolCallContent[] {
  const blocks =
    typeof content === 'string' ? blockForClient({ type: 'text', text: content }) : content.flatMap(blockForClient)
  return blocks.map((block) => {
    if (block.type !== 'text') return { type: 'content', content: block }
    const text = truncated(block.text)
    return textContent(withOutput.has(name) ? fenced(text) : text)
  })
}

function truncated(text: string): string {
  if (text.length <= maxCharacters) return text
  return `${headOf(text, maxCharacters)}\n[... ${text.length - maxCharacters} more characters, which the model has]`
}

/** The location where a change starts, for editors that follow. */
function changeLocation(details: unknown): ToolCallLocation | undefined {
  const { filePath: path, movedTo, structuredPatch } = fieldsOf(details)
  const filePath = movedTo ?? path
  const { newStart, lines } = fieldsOf(Array.isArray(structuredPatch) ? structuredPatch[0] : undefined)
  if (typeof filePath !== 'string' || typeof newStart !== 'number' || newStart < 1) return undefined
  // A hunk starts with unchanged lines.
  const unchanged = Array.isArray(lines)
    ? lines.findIndex((line) => typeof line === 'string' && !line.startsWith(' '))
    : 0
  return { path: filePath, line: newStart + Math.max(0, unchanged) }
}

/** The first locations that a search found. */
function placesOf(name: 'Glob' | 'Grep', content: MessageContent, details: unknown): readonly ToolCallLocation[] {
  const { filenames, mode, numLines } = fieldsOf(details)
  if (name === 'Glob') return Array.isArray(filenames) ? filenames.filter(isText).slice(0, maxPlaces).map(placeOf) : []
  if (typeof content !== 'string' || typeof numLines !== 'number' || numLines === 0) return []
  const lines = content.split('\n').slice(0, Math.min(numLines, maxPlaces))
  if (mode === 'files_with_matches') return lines.map(placeOf)
  return lines.flatMap((line) => {
    const [, path, at] = (mode === 'count' ? /^(.+):\d+$/ : /^(.+?):([1-9]\d{0,8}):/).exec(line) ?? []
    return path === undefined ? [] : [{ ...placeOf(path), ...(at !== undefined && { line: Number(at) }) }]
  })
}

/** Names with special characters are quoted as JSON. */
function placeOf(name: string): ToolCallLocation {
  if (!name.startsWith('"')) return { path: name }
  try {
    return { path: String(JSON.parse(name)) }
  } catch {
    return { path: name }
  }
}

const isText = (value: unknown): value is string => typeof value === 'string'
