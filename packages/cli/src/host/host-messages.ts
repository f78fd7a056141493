import type { JsonObject, SdkMessage, ContentBlock } from '@halting/core'
import { isToolResult, resultForHosts } from '@halting/core/adapters'
import type { Flags } from '../flags/flags.ts'

export interface HostMessagesOptions {
  readonly flags: Pick<Flags, 'includeAllMessages' | 'promptSuggestions' | 'hookSummary'>
  /** Whether the host also receives the text of subagents. */
  readonly forwardsAgentText: boolean
}

/**
 * Selects the messages of a session that a host receives (spec R-HOST-19): those that other coding agents send, in their
 * form. Between the result of a run and the next run, only the messages that the host requested.
 * `--include-all-messages` adds the rest.
 */
export class HostMessages {
  #isAfterResult = false

  /** The line for a message; undefined if this host does not receive it. */
  lineFor(message: SdkMessage, { flags, forwardsAgentText }: HostMessagesOptions): object | undefined {
    if (message.type === 'result') this.#isAfterResult = true
    else if (message.type === 'system' && message.subtype === 'init') this.#isAfterResult = false
    if (message.type === 'result') return resultForHosts(message)
    const shown = forwardsAgentText ? message : withoutAgentText(message)
    if (shown === undefined || (flags.includeAllMessages !== true && !this.#isWanted(shown, flags))) return undefined
    return shown.type === 'system' && shown.subtype === 'informational' ? informational(shown) : shown
  }

  #isWanted(message: SdkMessage, flags: HostMessagesOptions['flags']): boolean {
    if (message.type === 'user') return isFromRun(message)
    if (message.type === 'prompt_suggestion') return flags.promptSuggestions === true
    switch (message.type === 'system' ? message.subtype : undefined) {
      case 'stage_ended':
        return false
      case 'hook_summary':
        return flags.hookSummary === true
      case 'hook_started':
      case 'hook_progress':
      case 'hook_response':
        // The message exists only with `--include-hook-events`.
        return true
      default:
        return !this.#isAfterResult
    }
  }
}

/**
 * Whether a `user` message comes from the run: tool results, an interruption, and with `forwardSubagentText` the prompt of a subagent. Others come from
 * the host, hooks and the loop; `--replay-user-messages` reports those of the host.
 */
function isFromRun(message: Extract<SdkMessage, { readonly type: 'user' }>): boolean {
  if (message.parent_tool_use_id !== null) return message.isSynthetic !== true
  const { content } = message.message
  if (typeof content === 'string') return false
  return content.some((block) => isToolResult(block) || ('text' in block && interruption.test(String(block.text))))
}

const interruption = /^\[Request interrupted by user(?: for tool use)?\]$/

function informational({ message, ...others }: Extract<SdkMessage, { readonly subtype: 'informational' }>): JsonObject {
  return { ...others, content: message, level: 'notice' }
}

/** The blocks of subagents that every host receives: enough to see that one is working. */
const toolBlockTypes: ReadonlySet<string> = new Set(['tool_use', 'tool_result'])

/**
 * A message for a host that did not request the text of subagents (`forwardSubagentText`, spec R-HOST-4c): a message of
 * a subagent is reduced to calls and results. Undefined if nothing is left.
 */
function withoutAgentText(message: SdkMessage): SdkMessage | undefined {
  switch (message.type) {
    case 'assistant': {
      if (message.parent_tool_use_id === null) return message
      const content = toolBlocksIn(message.message.content)
      return content.length === 0 ? undefined : { ...message, message: { ...message.message, content } }
    }
    case 'user': {
      if (message.parent_tool_use_id === null) return message
      const { content: messageContent } = message.message
      const content = typeof messageContent === 'string' ? [] : toolBlocksIn(messageContent)
      return content.length === 0 ? undefined : { ...message, message: { ...message.message, content } }
    }
    case 'stream_event':
      return message.parent_tool_use_id === null ? message : undefined
    default:
      return message
  }
}

function toolBlocksIn(content: readonly ContentBlock[]): readonly ContentBlock[] {
  return content.filter(({ type }) => toolBlockTypes.has(type))
}
