import type { ContentBlock } from '@halting/core'
import { isJsonObject } from '@halting/core/adapters'
import { dollars } from '../io/dollars.ts'
import { counted, many } from '../io/figures.ts'
import { todosOf } from './todos.ts'
import { patchToolName } from './patch-files.ts'

/** The result of a successful call. */
export interface SuccessfulResult {
  readonly tool: string
  readonly content: string | readonly ContentBlock[]
  /** The structured result. */
  readonly details: unknown
}

/** The result of a call at a glance: `12 lines in 3 files`; '' if there is nothing to say. */
export function resultFigure({ tool, content, details }: SuccessfulResult): string {
  const fields = isJsonObject(details) ? details : {}
  switch (tool) {
    case 'Read':
      return readFigure(fields)
    case 'Grep':
      return grepFigure(fields)
    case 'Glob':
      return filesFigure(fields)
    case 'Bash':
      return commandFigure(fields)
    case 'Wait':
      return waitFigure(fields)
    case 'WebSearch':
      return searchFigure(fields)
    case 'WebFetch':
      return many(resultText(content).length, 'character')
    case 'TodoWrite':
    case 'TaskUpdate':
    case 'TaskList': {
      const todos = todosOf(fields) ?? []
      const done = todos.filter(({ status }) => status === 'completed').length
      return todos.length === 0 ? '' : `${counted(done)} of ${counted(todos.length)} done`
    }
    case 'Agent':
    case 'Task':
      return agentFigure(fields)
    case 'TaskCreate':
    case 'TaskGet':
    case 'Edit':
    case 'Write':
    case 'NotebookEdit':
    case patchToolName:
    case 'AskUserQuestion':
    case 'EnterPlanMode':
    case 'ExitPlanMode':
      return ''
    default: {
      const lines = resultText(content).split('\n').length
      return lines > 1 ? many(lines, 'line') : ''
    }
  }
}

/** The text of a result; other blocks are shown by their type. */
export function resultText(content: string | readonly ContentBlock[]): string {
  if (typeof content === 'string') return content
  return content
    .map((block) => (block.type === 'text' && typeof block.text === 'string' ? block.text : `[${block.type}]`))
    .join('\n')
}

type Fields = { readonly [name: string]: unknown }

function numberIn(fields: Fields, name: string): number {
  const value = fields[name]
  return typeof value === 'number' ? value : 0
}

function readFigure(fields: Fields): string {
  const [lines, total] = [numberIn(fields, 'numLines'), numberIn(fields, 'totalLines')]
  switch (fields['type']) {
    case 'text':
      return lines < total ? `${counted(lines)} of ${many(total, 'line')}` : many(lines, 'line')
    case 'image':
      return 'image'
    case 'notebook':
      return many(numberIn(fields, 'cells'), 'cell')
    case 'pdf':
      return `pages ${numberIn(fields, 'firstPage')}–${numberIn(fields, 'lastPage')} of ${numberIn(fields, 'totalPages')}`
    default:
      return ''
  }
}

/** Why a wait ended before the awaited event. */
function waitFigure({ outcome }: Fields): string {
  switch (outcome) {
    case 'over':
      return 'timed out'
    case 'limit':
      return 'no time left in the run'
    case 'arrived':
      return 'stopped by you'
    default:
      return ''
  }
}

function commandFigure({ backgroundTaskId: task, returnCodeInterpretation: says }: Fields): string {
  if (typeof task === 'string') return `in the background as ${task}`
  return typeof says === 'string' ? says : ''
}

function grepFigure(fields: Fields): string {
  const files = many(numberIn(fields, 'numFiles'), 'file')
  const lines = numberIn(fields, 'numLines')
  const more = fields['truncated'] === true ? ', truncated' : ''
  if (lines === 0) return 'no match'
  return fields['mode'] === 'files_with_matches' ? files + more : `${many(lines, 'line')} in ${files}${more}`
}

/** How many pages a search found. Results that are free text have no count. */
function searchFigure({ results }: Fields): string {
  if (!Array.isArray(results)) return ''
  return results.length === 0 ? 'no page' : many(results.length, 'page')
}

function filesFigure(fields: Fields): string {
  const files = numberIn(fields, 'numFiles')
  if (files === 0) return 'no file'
  return many(files, 'file') + (fields['truncated'] === true ? ', truncated' : '')
}

function agentFigure(fields: Fields): string {
  const cost = numberIn(fields, 'costUsd')
  const turns = numberIn(fields, 'turns')
  return [...(turns > 0 ? [many(turns, 'turn')] : []), ...(cost > 0 ? [dollars(cost)] : [])].join(', ')
}
