import { ConfigurationError } from '../values/errors.ts'
import type { Model, ToolDefinition } from '../model/model.ts'
import type { AnyTool } from './tool.ts'

/** Tools as the model is shown them, in the order in which they were given: those that are offered to it. */
export function toolDefinitionsOf(tools: Iterable<AnyTool>, model: Model): readonly ToolDefinition[] {
  return [...tools]
    .filter((tool) => isOfferedTo(tool, model))
    .map(({ name, description, inputSchema }) => ({ name, description, input_schema: inputSchema }))
}

/** Whether another model may be shown other tools. */
export function areOfferedByModel(tools: ReadonlyMap<string, AnyTool>): boolean {
  for (const tool of tools.values()) if (tool.offeredTo !== undefined) return true
  return false
}

/** Whether a model is shown the tool (`Tool.offeredTo`). */
export function isOfferedTo(tool: AnyTool, model: Model): boolean {
  if (tool.offeredTo === undefined) return true
  try {
    // Plain JavaScript may give anything back.
    return (tool.offeredTo(model) as unknown) === true
  } catch {
    return false
  }
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
