import { isJsonObject, type AnyLeafTool } from '@halting/core/adapters'
import { patchToolName } from '@halting/policy/files'
import type { ToolProfile } from '@halting/policy/settings'
import type { HasTool } from './available-tools.ts'
import { schemaOfSome } from './input.ts'
import { smallTools } from './small-tools.ts'

/** Whether a session offers a tool. `wanted`: the names that were given, `default` for all of the profile. */
export function isInProfile(name: string, wanted: ReadonlySet<string>, profile: ToolProfile): boolean {
  if (wanted.has(name)) return true
  if (name === patchToolName && (wanted.has('Edit') || wanted.has('Write'))) return true
  return wanted.has('default') && (profile !== 'small' || name in smallTools)
}

/** The tool as a profile offers it. What it accepts, and what it does, is the same. */
export function asOffered(tool: AnyLeafTool, profile: ToolProfile): AnyLeafTool {
  if (profile === 'small') return asSmallTool(tool)
  return profile === 'codex' ? { ...tool, description: withPatches(tool) } : tool
}

/** The words of a tool where patches take the place of Edit and Write. */
function withPatches({ name, description }: AnyLeafTool): string {
  if (name === patchToolName) return description
  // A patch shows the lines that it changes: no file has to be read first.
  const said = name === 'Read' ? description.replaceAll(/ [A-Z][^.]*\b(?:Edit|Write)\b[^.]*\./g, '') : description
  return said.replaceAll(/\bEdit\b(?:(?:, | and | or )Write\b)?|\bWrite\b/g, patchToolName)
}

/** Fields that are not offered are accepted all the same: the tool checks them itself. */
function asSmallTool(tool: AnyLeafTool): AnyLeafTool {
  const small = smallTools[tool.name]
  if (small === undefined) return tool
  const inputSchema = schemaOfSome(tool.inputSchema, small.fields)
  return { ...tool, description: small.description, inputSchema }
}

/** The tool without words about tools that the session does not offer. `known`: the names of all built-in tools. */
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

/** Sentences that name only tools that are missing are left out; lists of tools, such as `Read, Edit and Write`, name those that are there. */
function withoutNames(text: string, known: readonly string[], has: HasTool): string {
  const item = String.raw`\b(?:${known.join('|')})\b(?: to [a-z]+(?: for)? it)?`
  // At the beginning of a sentence it is a verb, such as `Read the file first.`
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

/** `Read, Edit and Write` without Edit is `Read and Write`. */
function offeredOf(names: string, has: HasTool): string {
  const link = / and | or /.exec(names)?.[0] ?? ', '
  const offered = names.split(/, | and | or /).filter((each) => has(each.replace(/ .*/, '')))
  const last = offered.pop() ?? ''
  return offered.length === 0 ? last : `${offered.join(', ')}${link}${last}`
}
