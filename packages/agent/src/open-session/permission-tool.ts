import {
  InvalidAnswer,
  messageOf,
  problemOfAnswer,
  type CanUseTool,
  type PermissionAnswer,
} from '@halting/core/adapters'
import type { JsonObject } from '@halting/core'

/** Calls a tool of a server; gives its text. */
export type AskTool = (toolName: string, input: JsonObject, signal: AbortSignal) => Promise<string>

/**
 * A tool of a server answers what a person would be asked (`--permission-prompt-tool mcp__server__tool`): it gets `{tool_name, input, tool_use_id}`,
 * and its text is the JSON of an answer. Where it fails, the call is denied; where it says something else, the run ends with that error.
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
    // It is told as the text that it is.
  }
  const problem = problemOfAnswer(answer)
  // Its shape was looked at; core holds every field of it against what an answer is (R-ASK-2).
  return problem === undefined ? (answer as PermissionAnswer) : new InvalidAnswer(`${permissionTool}: ${problem}`)
}
