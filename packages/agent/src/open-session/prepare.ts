import type { MessageContent } from '@halting/core'
import type { SessionPorts } from './ports.ts'
import type { LiveSession } from './live-session.ts'
import type { SessionServers } from './mcp.ts'
import type { RunSettings } from './run-settings.ts'
import type { Toolbox } from './toolbox.ts'
import type { ReloadableParts } from './reloadable-parts.ts'

export interface Preparing {
  /**
   * Whether the model of every run is fixed: the command line names the model, or the session was opened for the model
   * of its prompt.
   */
  readonly hasModel: boolean
  readonly run: RunSettings
  readonly reloadable: ReloadableParts
  readonly servers: SessionServers | undefined
  readonly toolbox: Toolbox
  readonly ports: Pick<SessionPorts, 'note' | 'wordNotice'>
}

/** Whether a prompt may contain a command or a mention, judged by its text. */
export const mayNameFileOrCommand: RegExp = /^\s*\/|(?:^|[\s(])@\S/

/** Returns the function that prepares prompts. */
export function preparedWith({
  hasModel,
  run,
  reloadable,
  servers,
  toolbox,
  ports,
}: Preparing): LiveSession['prepare'] {
  return async (prompt, rest = '', signal = new AbortController().signal) => {
    const parts = typeof prompt === 'string' ? [{ text: prompt, isName: false }] : prompt
    const text = parts.map((part) => part.text).join('')
    // The user's text is sent to the server; the rest of the prompt is only for the model.
    const answered = text.startsWith('/mcp__') ? await servers?.prompt(text, signal) : undefined
    if (answered !== undefined) return { content: withRest(answered, rest) }
    if (!mayNameFileOrCommand.test(text)) return { content: text + rest }
    const { contentOf, modelOfCommand } = await import('./prompt-content.ts')
    const { briefing } = reloadable
    const model = hasModel ? undefined : await modelOfCommand(text, run, briefing, ports)
    const content = await contentOf(parts, rest, briefing, toolbox, ports)
    return { content, ...(model !== undefined && { model }) }
  }
}

/** Appends attachments or piped input to the content of a prompt. */
function withRest(content: MessageContent, rest: string): MessageContent {
  if (rest === '') return content
  return typeof content === 'string' ? content + rest : [...content, { type: 'text', text: rest }]
}
