import { isToolResult, toolCallsOf, type ModelMessage } from '../model/messages.ts'

/** A tool call of the last turn, as guards see it. */
export interface GuardCall {
  /** The id from the model. */
  readonly id: string
  /** The name of the called tool, even if the model used an alias (`toolAliases`). */
  readonly name: string
  /** The input from the model. */
  readonly input: unknown
  /** `ok`: it ran. `error`: it failed or was denied. `pending`: it has no result, because it has not run yet or waits for a person. */
  readonly status: 'ok' | 'error' | 'pending'
}

/** The calls of the model's last message, in their order. `toolOf` resolves a name from the model to its tool. */
export function lastCallsOf(
  messages: readonly ModelMessage[],
  toolOf: (nameFromModel: string) => string,
): readonly GuardCall[] {
  const at = messages.findLastIndex(({ role }) => role === 'assistant')
  const message = messages[at]
  if (message?.role !== 'assistant') return noCalls
  const calls = toolCallsOf(message)
  if (calls.length === 0) return noCalls
  const outcomes = new Map(
    messages
      .slice(at + 1)
      .flatMap(({ content }) => (typeof content === 'string' ? [] : content.filter(isToolResult)))
      .map(({ tool_use_id: id, is_error: isError }) => [id, isError === true ? 'error' : 'ok'] as const),
  )
  return calls.map(({ id, name, input }) => ({ id, name: toolOf(name), input, status: outcomes.get(id) ?? 'pending' }))
}

const noCalls: readonly GuardCall[] = Object.freeze([])
