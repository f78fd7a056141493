import type { Given } from '../values/given.ts'
import { refuse } from '../values/given.ts'
import type { AnyTool } from './tool.ts'

/** Names under which a model may call tools that have other names. */
export type ToolAliases = { readonly [written: string]: string }

interface Named {
  readonly tools: ReadonlyMap<string, AnyTool>
  readonly toolAliases: ReadonlyMap<string, string>
}

// Spec R-TOOL-20.
/** The name of the tool that a call is of. One step: what an alias leads to is no alias. */
export function calledName(name: string, { toolAliases }: Pick<Named, 'toolAliases'>): string {
  return toolAliases.get(name) ?? name
}

/** The tool that a call by this name runs; undefined where there is none. */
export function calledTool(name: string, named: Named): AnyTool | undefined {
  return named.tools.get(calledName(name, named))
}

export const isToolAliases: Given = (name, value) => {
  const isObject = typeof value === 'object' && value !== null && !Array.isArray(value)
  if (!isObject || !Object.values(value).every((target) => typeof target === 'string' && target !== ''))
    refuse(name, 'an object of names of tools, such as { Bash: "mcp__workspace__bash" }', value)
}
