import { ConfigurationError } from '../errors.ts'
import type { ToolDefinition } from '../model/model.ts'
import type { AnyTool } from './tool.ts'

/** Tools as the model is shown them, in the order in which they were given. */
export function toolDefinitionsOf(tools: Iterable<AnyTool>): readonly ToolDefinition[] {
  return Array.from(tools, ({ name, description, inputSchema }) => ({ name, description, input_schema: inputSchema }))
}

/** Tools by name. @throws ConfigurationError when two share one. */
export function toolsByName(tools: readonly AnyTool[]): ReadonlyMap<string, AnyTool> {
  const byName = new Map<string, AnyTool>()
  for (const tool of tools) {
    if (byName.has(tool.name))
      throw new ConfigurationError(`Two tools are named ${tool.name}. Rename one: the model calls them by name.`)
    byName.set(tool.name, tool)
  }
  return byName
}
