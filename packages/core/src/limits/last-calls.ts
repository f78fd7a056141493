import { isToolResult, toolCallsOf, type ModelMessage } from '../model/messages.ts'

/** A call of a tool in the last turn, as a guard sees it. */
export interface GuardCall {
  /** The id that the model gave it. */
  readonly id: string
  /** The tool that the call is of, also where the model wrote another name of it (`toolAliases`). */
  readonly name: string
  /** What the model passed. */
  readonly input: unknown
  /** `ok`: it ran. `error`: it failed or was denied. `pending`: it has no result, since it did not run yet or waits for a person. */
  readonly status: 'ok' | 'error' | 'pending'
}

/** The calls of the last message of the model, in their order. `toolOf` gives the tool of a name that the model wrote. */
export function lastCallsIn(
  messages: readonly ModelMessage[],
  toolOf: (written: string) => string,
): readonly GuardCall[] {
  const at = messages.findLastIndex(({ role }) => role === 'assistant')
  const message = messages[at]
  if (message?.role !== 'assistant') return none
  const calls = toolCallsOf(message)
  if (calls.length === 0) return none
  const outcomes = new Map(
    messages
      .slice(at + 1)
      .flatMap(({ content }) => (typeof content === 'string' ? [] : content.filter(isToolResult)))
      .map(({ tool_use_id: id, is_error: isError }) => [id, isError === true ? 'error' : 'ok'] as const),
  )
  return calls.map(({ id, name, input }) => ({ id, name: toolOf(name), input, status: outcomes.get(id) ?? 'pending' }))
}

const none: readonly GuardCall[] = Object.freeze([])
