import { isJsonObject, type AnyLeafTool } from '@halting/core/adapters'
import { patchToolName } from '@halting/policy/files'
import type { ToolProfile } from '@halting/policy/settings'
import type { HasTool } from './available-tools.ts'
import { schemaOfSome } from './input.ts'

/** Whether a session offers a tool. `wanted`: the named tools, or `default` for all of the profile. */
export function isInProfile(name: string, named: ReadonlySet<string>, profile: ToolProfile): boolean {
  if (named.has(name)) return true
  if (name === patchToolName && (named.has('Edit') || named.has('Write'))) return true
  return named.has('default') && (profile !== 'small' || name in smallTools)
}

/** The tool as a profile offers it. Its behaviour and accepted input are the same. */
export function offeredTool(tool: AnyLeafTool, profile: ToolProfile): AnyLeafTool {
  if (profile === 'small') return asSmallTool(tool)
  return profile === 'codex' ? { ...tool, description: withPatches(tool) } : tool
}

/** Returns the description of a tool for sessions in which patches replace Edit and Write. */
function withPatches({ name, description }: AnyLeafTool): string {
  if (name === patchToolName) return description
  // A patch contains the lines that it changes: no file has to be read first.
  const baseText = name === 'Read' ? description.replaceAll(/ [A-Z][^.]*\b(?:Edit|Write)\b[^.]*\./g, '') : description
  return baseText.replaceAll(/\bEdit\b(?:(?:, | and | or )Write\b)?|\bWrite\b/g, patchToolName)
}

/** Fields that are not offered are still accepted: the tool checks them itself. */
function asSmallTool(tool: AnyLeafTool): AnyLeafTool {
  const small = smallTools[tool.name]
  if (small === undefined) return tool
  const inputSchema = schemaOfSome(tool.inputSchema, small.fields)
  return { ...tool, description: small.description, inputSchema }
}

/**
 * Returns the tool with texts that do not mention tools missing in the session. `known`: the names of all built-in
 * tools.
 */
export function withoutMissingTools(tool: AnyLeafTool, known: readonly string[], has: HasTool): AnyLeafTool {
  const missing = known.filter((name) => !has(name))
  if (missing.length === 0) return tool
  const shortened = (text: string): string => withoutNames(text, known, has)
  const { properties } = tool.inputSchema
  const fields = Object.entries(isJsonObject(properties) ? properties : {}).map(([name, field]) => {
    if (!isJsonObject(field) || typeof field['description'] !== 'string') return [name, field]
    return [name, { ...field, description: shortened(field['description']) }]
  })
  return {
    ...tool,
    description: shortened(tool.description),
    inputSchema: { ...tool.inputSchema, ...(isJsonObject(properties) && { properties: Object.fromEntries(fields) }) },
  }
}

/** Removes sentences that name only missing tools; lists such as `Read, Edit and Write` keep the available ones. */
function withoutNames(text: string, known: readonly string[], has: HasTool): string {
  const item = String.raw`\b(?:${known.join('|')})\b(?: to [a-z]+(?: for)? it)?`
  // At the beginning of a sentence, the word is a verb, as in `Read the file first.`
  const list = new RegExp(String.raw`(?<=\S )${item}(?:(?:, | and | or )${item})*`, 'g')
  const sentences = text.split(/(?<=\.) /)
  const isAbout = (names: string): boolean => names.split(/, | and | or /).some((each) => has(each.replace(/ .*/, '')))
  return sentences
    .filter((sentence) => {
      const lists = sentence.match(list) ?? []
      return lists.length === 0 || lists.some(isAbout)
    })
    .map((sentence) => sentence.replaceAll(list, (names) => offeredOf(names, has)))
    .join(' ')
}

/** `Read, Edit and Write` without Edit becomes `Read and Write`. */
function offeredOf(names: string, has: HasTool): string {
  const link = / and | or /.exec(names)?.[0] ?? ', '
  const offered = names.split(/, | and | or /).filter((each) => has(each.replace(/ .*/, '')))
  const last = offered.pop() ?? ''
  return offered.length === 0 ? last : `${offered.join(', ')}${link}${last}`
}

/** A tool for a small model: its description and its offered fields. */
interface SmallTool {
  readonly description: string
  readonly fields: Readonly<Record<string, { readonly description?: string }>>
}

/** The tools of the profile `small`, with short texts. */
const smallTools: Readonly<Record<string, SmallTool | undefined>> = {
  Read: {
    description: 'Read a file. Returns numbered lines. The number and the tab are not part of the file.',
    fields: {
      file_path: {},
      offset: { description: 'First line (default: 1)' },
      limit: { description: 'Number of lines' },
    },
  },
  Write: {
    description: 'Create a file, or replace all of it. Read an existing file first.',
    fields: { file_path: {}, content: { description: 'The whole file' } },
  },
  Edit: {
    description: 'Replace text in a file. Read the file first.',
    fields: {
      file_path: {},
      old_string: { description: 'Text to replace, copied exactly, without line numbers. Must be in the file once.' },
      new_string: { description: 'Replacement' },
      replace_all: { description: 'Replace every occurrence (default: false)' },
    },
  },
  Bash: {
    description: 'Run a shell command. Returns its output and exit code. Commands cannot read input.',
    fields: { command: {} },
  },
  Glob: {
    description: 'Find files by name.',
    fields: {
      pattern: { description: 'For example src/**/*.ts' },
      path: { description: 'Directory (default: working directory)' },
    },
  },
  Grep: {
    description: 'Search file contents by regular expression. Returns paths, or matching lines.',
    fields: {
      pattern: {},
      path: { description: 'File or directory (default: working directory)' },
      glob: { description: 'For example *.ts' },
      output_mode: { description: 'content returns lines (default: files_with_matches)' },
    },
  },
}
