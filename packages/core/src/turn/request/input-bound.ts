import { upperBoundOfMessages, upperBoundOfText } from '../../context/tokens.ts'
import type { Model, ToolDefinition } from '../../model/model.ts'
import type { Run } from '../run.ts'
import { promptCountFor } from './prompt-count.ts'

/** What services add to a request around what they were sent. */
export const requestOverhead = 1_000

/** The most input tokens that the run's next request can be billed for: the provider's own count, and bytes for what came since. */
export function inputBoundOf(run: Run, model: Model): number {
  const counted = promptCountFor(run, model)
  const messages = run.transcript.messages()
  return withServerTools(
    counted !== undefined
      ? counted.tokens + upperBoundOfMessages(messages, model, counted.length)
      : requestOverhead +
          upperBoundOfText(run.context.settings.system) +
          boundOfTools(run.context.toolDefinitions) +
          upperBoundOfMessages(messages, model),
    model,
  )
}

/** Each use of a tool of the service's own reads everything again, and what it found: at most the window. */
function withServerTools(sent: number, { maxServerToolUses = 0, contextWindow }: Model): number {
  return sent + maxServerToolUses * Math.max(sent, contextWindow)
}

const toolBounds = new WeakMap<readonly ToolDefinition[], number>()

function boundOfTools(definitions: readonly ToolDefinition[]): number {
  const known = toolBounds.get(definitions)
  if (known !== undefined) return known
  const bound = upperBoundOfText(JSON.stringify(definitions))
  toolBounds.set(definitions, bound)
  return bound
}
