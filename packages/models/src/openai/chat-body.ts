import type { JsonObject, ModelRequest, Sampling, ToolChoice } from '@halting/core'
import { wellFormedJson } from '@halting/core/adapters'
import type { ToolDefinition } from '@halting/core/adapters'
import { createBodies } from '../bytes/bodies.ts'
import type { TurnKind } from '../bytes/wire-format.ts'
import { supportsSampling } from '../responses/reasoning-effort.ts'
import type { UnsupportedSettings } from '../service/unsupported-settings.ts'
import { chatMessagesOf, separator } from './chat-messages.ts'
import type { ChatDialect } from './chat-messages.ts'

export interface ChatBodyOptions extends ChatDialect {
  readonly model: string
  readonly outputLimitField: 'max_tokens' | 'max_completion_tokens'
  /** Whether to request usage: some services report it anyway, and reject the field. */
  readonly asksForUsage: boolean
  /** Additional fields of every request; built-in fields take precedence. */
  readonly extraBody?: JsonObject | undefined
  /** Receives settings that the model does not support. */
  readonly unsupported?: UnsupportedSettings | undefined
}

/** Each message is a separate JSON value. */
const single: TurnKind = { opening: '', closing: '', merges: false, takesBreakpoint: false }
/** The same for messages that start with a user message, and for those that end with a result. */
const fromUser: TurnKind = { ...single }
const results: TurnKind = { ...single }

/** Creates the request bodies of one adapter, each as one buffer; each message is serialized only once. */
export function createChatBody(options: ChatBodyOptions): (request: ModelRequest) => Uint8Array {
  const { model, outputLimitField, asksForUsage } = options
  const bodies = createBodies({
    render(message) {
      const messages = chatMessagesOf(message, options)
      return { kind: kindOf(messages), first: '', rest: messages.map((one) => JSON.stringify(one)).join(',') }
    },
    ...(options.separatesUserFromResults && { between }),
  })
  const usage = asksForUsage ? ',"stream_options":{"include_usage":true}' : ''
  const reservedFields = ['model', 'messages', 'tools', 'tool_choice', 'stream', 'stream_options', outputLimitField]
  const extraFields = Object.entries(wellFormedJson(options.extraBody ?? {}))
    .filter(([name, value]) => !reservedFields.includes(name) && value !== undefined)
    .map(([name, value]) => [name, `,${JSON.stringify(name)}:${JSON.stringify(value)}`] as const)
  const extra = extraFields.map(([, text]) => text).join('')
  let head: { readonly system: string; readonly tools: readonly ToolDefinition[]; readonly text: string } | undefined
  return ({ system, tools, toolChoice, messages, maxOutputTokens, sampling }) => {
    if (head?.system !== system || head.tools !== tools) head = { system, tools, text: headOf(model, system, tools) }
    const choice = tools.length > 0 ? toolChoiceField(toolChoice) : ''
    const limit = `,"${outputLimitField}":${maxOutputTokens}`
    const end = `]${choice}${limit},"stream":true${usage}`
    if (sampling === undefined) return bodies(head.text, messages, `${end}${extra}}`)
    const set = samplingOf(options, sampling)
    const others = extraFields.flatMap(([name, text]) => (name in set ? [] : [text])).join('')
    const fields = Object.entries(set).map(([name, value]) => `,${JSON.stringify(name)}:${JSON.stringify(value)}`)
    return bodies(head.text, messages, `${end}${fields.join('')}${others}}`)
  }
}

function toolChoiceField(toolChoice: ToolChoice | undefined): string {
  if (toolChoice === undefined || toolChoice === 'auto') return ''
  const choice = typeof toolChoice === 'string' ? toolChoice : { type: 'function', function: { name: toolChoice.tool } }
  return `,"tool_choice":${JSON.stringify(choice)}`
}

/** Returns the sampling fields: OpenAI's reasoning models support only the seed. */
function samplingOf(
  { model, extraBody, unsupported }: ChatBodyOptions,
  { temperature, topP, stopSequences, seed }: Sampling,
): JsonObject {
  const isFixed = !supportsSampling(model, extraBody?.reasoning_effort)
  const sampling = {
    ...(temperature !== undefined && { temperature }),
    ...(topP !== undefined && { topP }),
    ...(stopSequences !== undefined && { stopSequences }),
  }
  if (isFixed) unsupported?.note(Object.keys(sampling))
  return {
    ...(!isFixed && temperature !== undefined && { temperature }),
    ...(!isFixed && topP !== undefined && { top_p: topP }),
    ...(!isFixed && stopSequences !== undefined && { stop: stopSequences }),
    ...(seed !== undefined && { seed }),
  }
}

function kindOf(messages: readonly JsonObject[]): TurnKind {
  if (messages[0]?.role === 'user') return fromUser
  return messages.at(-1)?.role === 'tool' ? results : single
}

const separatorText = JSON.stringify(separator)

function between(before: TurnKind, after: TurnKind): string {
  return before === results && after === fromUser ? separatorText : ''
}

function headOf(model: string, system: string, tools: readonly ToolDefinition[]): string {
  const listed = tools.map(({ name, description, input_schema }) =>
    JSON.stringify({ type: 'function', function: { name, description, parameters: input_schema } }),
  )
  const first = system.trim() === '' ? '' : JSON.stringify({ role: 'system', content: system })
  const named = `{"model":${JSON.stringify(model)}${listed.length === 0 ? '' : `,"tools":[${listed.join(',')}]`}`
  return `${named},"messages":[${first}`
}
