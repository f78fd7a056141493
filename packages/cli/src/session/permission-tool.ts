import { messageOf, type CanUseTool, type PermissionAnswer } from '@halting/core/adapters'
import type { JsonObject } from '@halting/core'

/** Calls a tool of a server; gives its text. */
export type AskTool = (toolName: string, input: JsonObject, signal: AbortSignal) => Promise<string>

/**
 * A tool of a server answers what a person would be asked (`--permission-prompt-tool mcp__server__tool`): it gets `{tool_name, input, tool_use_id}`,
 * and its text is the JSON of an answer. Where it fails, or says something else, the call is denied.
 */
export function answerByTool(permissionTool: string, ask: AskTool): CanUseTool {
  return async (toolName, input, { toolUseID, signal }) => {
    try {
      const about = { tool_name: toolName, input, tool_use_id: toolUseID }
      return answerIn(await ask(permissionTool, about, signal))
    } catch (thrown) {
      return { behavior: 'deny', message: `${permissionTool} did not answer: ${messageOf(thrown)}` }
    }
  }
}

function answerIn(text: string): PermissionAnswer {
  // True where it is an answer; core holds every field of it against what an answer is (R-ASK-2).
  return JSON.parse(text) as PermissionAnswer
}
