import type { CallerRights } from '@halting/core/adapters'

/** Whether the caller has the tool of this name: no text sends a model to a tool that it does not have. */
export type HasTool = (name: string) => boolean

/** The tools of whoever calls; all of them where that is unknown. */
export function toolsOfCaller(rights: Pick<CallerRights, 'tools'> | undefined): HasTool {
  return rights === undefined ? everyTool : (name) => rights.tools.includes(name)
}

/** For a caller that has all of them. */
export const everyTool: HasTool = () => true
