import type { AnyTool, QueryOptions } from '@halting/core'
import type { LargeResults } from '@halting/core/adapters'
import type { ToolProfile } from '@halting/policy/settings'
import type { Briefing } from '../instructions/briefing.ts'
import { imageAdvice } from '../media/fit-image-texts.ts'
import { createPrepareContent } from '../media/prepare-content.ts'
import { redactedTools } from '../redact/redacted-tools.ts'
import type { SessionWorkspace } from './open-workspace.ts'
import { surroundingsOf } from './surroundings.ts'
import { systemPrompt } from './system-prompt.ts'

/** The parts of a session. */
export interface SessionParts extends SessionWorkspace {
  /** The tools, without the tool that starts subagents. */
  readonly tools: readonly AnyTool[]
  /** Starts subagents; undefined if there are none. */
  readonly agentTool: AnyTool | undefined
  /** Instructions of the user. */
  readonly briefing: Briefing | undefined
  /** Whether secrets of known forms are removed from what tools show. */
  readonly redacts: boolean
  // Spec R-SECRET-2.
  /** Removes the program's own keys from what tools show and from user input. */
  readonly redactKeys: (text: string) => string
  /** Which tools are offered, and with which descriptions. */
  readonly toolProfile: ToolProfile | undefined
  /** Replaces the system prompt of the coding agent. */
  readonly system: string | undefined
  /** Appended to the system prompt. */
  readonly appended: string | undefined
}

type Made =
  | 'system'
  | 'tools'
  | 'hooks'
  | 'userContext'
  | 'permissions'
  | 'largeResults'
  | 'prepareContent'
  | 'mediaLimits'

/** The run options that result from the parts of a session, in the terminal program and in other programs. */
export async function sessionOptions(parts: SessionParts): Promise<Required<Pick<QueryOptions, Made>>> {
  const { workspace, permissions, resultFiles, briefing } = parts
  const leaves = briefing?.tools(parts.tools) ?? parts.tools
  const allTools = parts.agentTool === undefined ? leaves : [...leaves, parts.agentTool]
  const redact = await redactorOf(parts)
  workspace.redact = redact
  workspace.redactsSecrets = parts.redacts
  const tools = redactedTools(allTools, redact)
  const names = tools.map(({ name }) => name)
  const ours = (): string => systemPrompt({ ...surroundingsOf(workspace), tools: names, profile: parts.toolProfile })
  const entries = Object.entries(briefing?.entries ?? {})
  return {
    system: [parts.system ?? ours(), redact(briefing?.system ?? ''), parts.appended]
      .filter((part) => part !== undefined && part !== '')
      .join('\n\n'),
    tools,
    hooks: briefing?.hooks ?? [],
    userContext: Object.fromEntries(entries.map(([name, text]) => [name, redact(text)])),
    permissions,
    largeResults: tools.some(({ name }) => name === 'Read') ? { ...resultFiles, readCall } : resultFiles,
    prepareContent: createPrepareContent(workspace.fitImage, parts.redactKeys),
    mediaLimits: { advice: imageAdvice },
  }
}

/** How the model reads a stored result. */
function readCall(path: string): ReturnType<NonNullable<LargeResults['readCall']>> {
  return { tool: 'Read', input: { file_path: path }, lineField: 'offset' }
}

/**
 * Removes secrets from what tools show, to the model, to hooks and on disk. Known forms are loaded only if requested.
 */
async function redactorOf({ redacts, redactKeys }: SessionParts): Promise<(text: string) => string> {
  if (!redacts) return redactKeys
  const { redactSecrets } = await import('@halting/core/redact')
  return (text) => redactSecrets(redactKeys(text))
}
