import { mcpNameOf } from '../../io/mcp-name.ts'
import { revealHiddenInLine } from '../../io/reveal-hidden.ts'
import { displayPath } from '../../io/display-path.ts'

/** Maximum length of a name or path in the question. A longer one is truncated; the details of the request show it in full. */
export const maxActionLength = 200

/** The question about a call in one sentence that names the action: `Edit src/parser.ts?`, `Run this command?` (spec R-TERM-30). */
export function actionQuestion(toolName: string, input: { readonly [field: string]: unknown }, cwd: string): string {
  const raw = (name: string): string => (typeof input[name] === 'string' ? input[name] : '')
  const nameAction = (action: string, name: string, otherwise: string): string =>
    name === '' ? `${otherwise}?` : `${action} ${revealHiddenInLine(name, maxActionLength)}?`
  const path = (name: string): string => displayPath(raw(name), cwd)
  switch (toolName) {
    case 'Bash':
      return input['run_in_background'] === true ? 'Run this command in the background?' : 'Run this command?'
    case 'Wait':
      if (raw('command') === '') return 'Wait?'
      return `Run this command repeatedly until ${raw('pattern') === '' ? 'it succeeds' : 'its output matches'}?`
    case 'Edit':
      return nameAction('Edit', path('file_path'), 'Edit a file')
    case 'apply_patch':
      return 'Apply this patch?'
    case 'NotebookEdit':
      return nameAction('Edit', path('notebook_path'), 'Edit a notebook')
    case 'Write':
      return nameAction('Write', path('file_path'), 'Write a file')
    case 'Read':
      return nameAction('Read', path('file_path'), 'Read a file')
    case 'Grep':
      return nameAction('Search in', path('path'), 'Search in this folder')
    case 'Glob':
      return nameAction('List files in', path('path'), 'List files in this folder')
    case 'WebFetch':
      return nameAction('Fetch from', hostOf(raw('url')), 'Fetch this page')
    case 'WebSearch':
      return 'Search the web?'
    case 'Agent':
    case 'Task':
      return nameAction('Start the agent', raw('subagent_type'), 'Start an agent')
    case 'Skill':
      return nameAction('Use the skill', raw('skill'), 'Use a skill')
    default: {
      const called = mcpNameOf(toolName)
      return called === undefined
        ? nameAction('Use the tool', toolName, 'Use a tool')
        : nameAction(`Use ${revealHiddenInLine(called.tool, 60)} of the MCP server`, called.server, 'Use a tool')
    }
  }
}

function hostOf(url: string): string {
  return URL.canParse(url) ? new URL(url).host : ''
}
