import type { JsonObject } from '@halting/core'
import type { HookAnswer } from './hook-answer.ts'

/** The combined answer of all hooks of one event. */
export interface HookVerdict {
  /** Set if a hook blocks the event: all reasons, joined; '' without a reason. */
  readonly block?: string
  readonly permission?: NonNullable<HookAnswer['permission']>
  readonly permissionReason: string
  readonly updatedInput?: JsonObject
  readonly output?: string
  /** Set if a redacting hook failed: takes precedence over every output. */
  readonly withholds?: true
  readonly contexts: readonly string[]
  /** Set if a hook stops the run: its reason. */
  readonly stop?: string
  readonly request?: NonNullable<HookAnswer['request']>
  /** Notes for the user: messages of hooks, and failures. */
  readonly notes: readonly string[]
}

const byWeight = ['deny', 'defer', 'ask', 'allow'] as const

/**
 * Merges answers. Precedence: deny, defer, ask, allow. Of inputs and outputs the last one counts, in the order of the
 * settings.
 */
export function verdictOf(answers: readonly HookAnswer[]): HookVerdict {
  const permission = byWeight.find((weight) => answers.some((answer) => answer.permission === weight))
  const reasons = answers.filter((answer) => answer.permission === permission).map((answer) => answer.permissionReason)
  const blocks = answers.flatMap(({ block }) => (block === undefined ? [] : [block]))
  const { updatedInput } = answers.findLast((answer) => answer.updatedInput !== undefined) ?? {}
  const outputs = answers.filter((answer) => answer.output !== undefined)
  const { output } = outputs.findLast(({ redacts }) => redacts === true) ?? outputs.at(-1) ?? {}
  const { stop } = answers.find((answer) => answer.stop !== undefined) ?? {}
  const { request } =
    answers.find((answer) => answer.request?.behavior === 'deny') ?? answers.find((answer) => answer.request) ?? {}
  return {
    ...(blocks.length > 0 && { block: joined(blocks) }),
    ...(permission !== undefined && { permission }),
    permissionReason: permission === undefined ? '' : joined(reasons),
    ...(updatedInput !== undefined && { updatedInput }),
    ...(output !== undefined && { output }),
    ...(answers.some(({ withholds }) => withholds === true) && { withholds: true }),
    contexts: answers.flatMap(({ context }) => (context === undefined ? [] : [context])),
    ...(stop !== undefined && { stop }),
    ...(request !== undefined && { request }),
    notes: answers.flatMap(({ systemMessage }) => (systemMessage === undefined ? [] : [systemMessage])),
  }
}

function joined(reasons: readonly (string | undefined)[]): string {
  return reasons.filter((reason) => reason !== undefined && reason.trim() !== '').join('\n')
}
