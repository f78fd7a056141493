import { isJsonObject, type AnyLeafTool } from '@halting/core/adapters'
import { patchToolName } from '@halting/policy/files'
import type { ToolProfile } from '@halting/policy/settings'
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
  const { properties, required = [] } = tool.inputSchema
  const all = isJsonObject(properties) ? properties : {}
  const offered = Object.entries(small.fields).flatMap(([name, field]) => {
    const schema = all[name]
    if (!isJsonObject(schema)) return []
    const { description: _, minLength: __, minimum: ___, ...form } = schema
    return [[name, { ...form, ...field }]]
  })
  const inputSchema = { type: 'object', properties: Object.fromEntries(offered), required }
  return { ...tool, description: small.description, inputSchema }
}
