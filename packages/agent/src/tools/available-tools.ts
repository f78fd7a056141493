import type { CallerRights } from '@halting/core/adapters'

/** Whether the caller has the tool with this name: a text should not refer a model to a tool that it does not have. */
export type HasTool = (name: string) => boolean

/** The tools of the caller; all of them if unknown. */
export function toolsOfCaller(rights: Pick<CallerRights, 'tools'> | undefined): HasTool {
  return rights === undefined ? everyTool : (name) => rights.tools.includes(name)
}

/** For a caller that has all tools. */
export const everyTool: HasTool = () => true
