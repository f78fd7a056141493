import { InvalidAnswer, messageOf, answerProblem, type CanUseTool, type PermissionAnswer } from '@halting/core/adapters'
import type { JsonObject } from '@halting/core'

/** Calls a tool of a server and returns its text. */
export type AskTool = (toolName: string, input: JsonObject, signal: AbortSignal) => Promise<string>

/**
 * Lets a tool of a server answer permission requests (`--permission-prompt-tool mcp__server__tool`): it receives
 * `{tool_name, input, tool_use_id}`, and returns the JSON of an answer. If it fails, the call is denied; if it returns
 * anything else, the run ends with that error.
 */
export function answerByTool(permissionTool: string, ask: AskTool): CanUseTool {
  return async (toolName, input, { toolUseID, signal }) => {
    try {
      const about = { tool_name: toolName, input, tool_use_id: toolUseID }
      return answerIn(await ask(permissionTool, about, signal), permissionTool)
    } catch (thrown) {
      return { behavior: 'deny', message: `${permissionTool} did not answer: ${messageOf(thrown)}` }
    }
  }
}

function answerIn(text: string, permissionTool: string): PermissionAnswer {
  let answer: unknown = text
  try {
    answer = JSON.parse(text)
  } catch {
    // The error is reported as plain text.
  }
  const problem = answerProblem(answer)
  // The form of the answer was checked; core validates every field (R-ASK-2).
  return problem === undefined ? (answer as PermissionAnswer) : new InvalidAnswer(`${permissionTool}: ${problem}`)
}
