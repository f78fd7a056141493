import { ConfigurationError } from '../values/errors.ts'
import type { Model, ToolDefinition } from '../model/model.ts'
import type { AnyTool } from './tool.ts'
import { type Validator, throwInvalidOption } from '../values/validators.ts'

/** The tool definitions for a model, in the given order: only tools that are offered to it. */
export function toolDefinitionsOf(tools: Iterable<AnyTool>, model: Model): readonly ToolDefinition[] {
  return [...tools]
    .filter((tool) => isOfferedTo(tool, model))
    .map(({ name, description, inputSchema }) => ({ name, description, input_schema: inputSchema }))
}

/** Whether the set of offered tools may depend on the model. */
export function areOfferedByModel(tools: ReadonlyMap<string, AnyTool>): boolean {
  for (const tool of tools.values()) if (tool.offeredTo !== undefined) return true
  return false
}

/** Whether the tool is offered to a model (`Tool.offeredTo`). */
export function isOfferedTo(tool: AnyTool, model: Model): boolean {
  if (tool.offeredTo === undefined) return true
  try {
    // JavaScript code may return anything.
    return (tool.offeredTo(model) as unknown) === true
  } catch {
    return false
  }
}

/** Tools by name. @throws ConfigurationError when two tools have the same name. */
export function toolsByName(tools: readonly AnyTool[]): ReadonlyMap<string, AnyTool> {
  const byName = new Map<string, AnyTool>()
  for (const tool of tools) {
    if (byName.has(tool.name))
      throw new ConfigurationError(`Two tools are named ${tool.name}. Rename one: the model calls them by name.`)
    byName.set(tool.name, tool)
  }
  return byName
}

/** Aliases under which a model may call tools. */
export type ToolAliases = { readonly [written: string]: string }

interface Named {
  readonly tools: ReadonlyMap<string, AnyTool>
  readonly toolAliases: ReadonlyMap<string, string>
}

// Spec R-TOOL-20.
/** The name of the called tool. Resolves one alias: an alias of an alias is not followed. */
export function calledName(name: string, { toolAliases }: Pick<Named, 'toolAliases'>): string {
  return toolAliases.get(name) ?? name
}

/** The tool that a call by this name runs; undefined for an unknown name. */
export function calledTool(name: string, named: Named): AnyTool | undefined {
  return named.tools.get(calledName(name, named))
}

export const isToolAliases: Validator = (name, value) => {
  const isObject = typeof value === 'object' && value !== null && !Array.isArray(value)
  if (!isObject || !Object.values(value).every((target) => typeof target === 'string' && target !== ''))
    throwInvalidOption(name, 'an object of names of tools, such as { Bash: "mcp__workspace__bash" }', value)
}
