import type { MessageContent } from '@halting/core'
import type { SessionPorts } from './ports.ts'
import type { LiveSession } from './live-session.ts'
import type { SessionServers } from './mcp.ts'
import type { RunSettings } from './run-settings.ts'
import type { Toolbox } from './toolbox.ts'
import type { Written } from './written.ts'

export interface Preparing {
  /** The model of every run was chosen: the command line names it, or the session was opened for the one that its prompt is for. */
  readonly hasModel: boolean
  readonly run: RunSettings
  readonly written: Written
  readonly servers: SessionServers | undefined
  readonly toolbox: Toolbox
  readonly ports: Pick<SessionPorts, 'note' | 'wordNotice'>
}

/** Where a prompt names a command or a file, as far as one can tell without looking. */
export const namesSomething: RegExp = /^\s*\/|(?:^|[\s(])@\S/

/** What makes ready what a person wrote. */
export function preparedWith({ hasModel, run, written, servers, toolbox, ports }: Preparing): LiveSession['prepare'] {
  return async (said, rest = '', signal = new AbortController().signal) => {
    const parts = typeof said === 'string' ? [{ text: said, isName: false }] : said
    const text = parts.map((part) => part.text).join('')
    // What the person wrote is for the server; what stands behind is for the model alone.
    const answered = text.startsWith('/mcp__') ? await servers?.prompt(text, signal) : undefined
    if (answered !== undefined) return { content: withRest(answered, rest) }
    if (!namesSomething.test(text)) return { content: text + rest }
    const { contentOf, modelOfCommand } = await import('./said.ts')
    const { briefing } = written
    const model = hasModel ? undefined : await modelOfCommand(text, run, briefing, ports)
    const content = await contentOf(parts, rest, briefing, toolbox, ports)
    return { content, ...(model !== undefined && { model }) }
  }
}

/** What was attached or piped in, behind what a prompt stands for. */
function withRest(content: MessageContent, rest: string): MessageContent {
  if (rest === '') return content
  return typeof content === 'string' ? content + rest : [...content, { type: 'text', text: rest }]
}
