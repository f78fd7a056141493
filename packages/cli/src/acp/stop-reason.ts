import type { StopReason } from '@agentclientprotocol/sdk'
import { endings, type Ending, type RunResult } from '@halting/core'
import { endingLimits, limitOfResult, stopOf, type SdkStop } from '@halting/core/adapters'
import { endingMessage } from '../frontends/wait-text.ts'
import { figuresOf } from '../headless/ending.ts'
import { standingBudgetAdvice } from '../headless/limit-advice.ts'
import { authenticationRequired, internalError } from './errors.ts'
import { oneLine } from '../io/figures.ts'
import { limitOptionNames } from './limit-options.ts'

// The only place that maps endings to the protocol, by the row of the ending.

/** What the response to a prompt contains in addition to its stop reason. */
interface StopMeta {
  readonly 'halting/stop': Pick<SdkStop, 'reason' | 'category' | 'message' | 'context' | 'forced'>
  readonly [name: string]: unknown
}

/** The response to a prompt. */
export type PromptAnswer =
  | { readonly kind: 'stop'; readonly stopReason: StopReason; readonly meta: StopMeta }
  | { readonly kind: 'error'; readonly code: number; readonly message: string; readonly data: object }

/** The response to the prompt of a finished run. `isCancelled`: the client cancelled it (spec R-ACP-6). */
export function answerFor(terminal: RunResult, isCancelled: boolean): PromptAnswer {
  const { reason, category, message, context, forced } = stopOf(terminal)
  const { verified } = terminal
  const meta = {
    'halting/stop': { reason, category, message, context, forced },
    ...(verified !== undefined && { 'halting/verified': verified }),
  }
  // The protocol requires `cancelled` after a cancel, even if something else failed.
  if (isCancelled) return { kind: 'stop', stopReason: 'cancelled', meta }
  const { acp } = endings[terminal.reason]
  if (acp === 'error') {
    const code = isKeyRejected(terminal) ? authenticationRequired : internalError
    return { kind: 'error', code, message: sentenceOf(terminal), data: { stop: meta['halting/stop'] } }
  }
  return { kind: 'stop', stopReason: acp === 'cancelled' ? 'end_turn' : acp, meta }
}

/** Whether the service rejected the key, or there was none. */
function isKeyRejected({ reason, error }: RunResult): boolean {
  if (reason !== 'model_error' || error === undefined || !('kind' in error)) return false
  return error.kind === 'authentication_failed'
}

/** What to do next in an editor; '' for nothing. */
function adviceForEditor(terminal: RunResult): string {
  const { advice } = endings[terminal.reason]
  if (typeof advice.editor === 'string') return advice.editor
  const limit = limitOfResult(terminal)
  if (limit === null) return standingBudgetAdvice(terminal)
  if (limit === 'noProgress' || limit === 'maxGoalTries') return ''
  const option = `"${limitOptionNames[limit]}" in the session options`
  return endingLimits[limit].raisedBy === 'continuing'
    ? `To continue, write the next prompt or /continue; ${option} raises the limit.`
    : `Raise ${option}, then enter /continue.`
}

/** One sentence on an ending, with figures and what to do next. */
export function sentenceOf(terminal: RunResult): string {
  const message = oneLine(endingMessage(terminal, Date.now()), 500).replace(/[.\s]+$/, '')
  const next = adviceForEditor(terminal)
  return `${terminal.reason}: ${message} (${figuresOf(terminal)}).${next === '' ? '' : ` ${next}`}`
}

export type Severity = 'info' | 'warning' | 'error'

const severities: { readonly [announcement in Ending['announcement']]: Severity } = {
  success: 'info',
  stopped: 'info',
  limited: 'warning',
  paused: 'error',
  interrupted: 'info',
  unanswered: 'warning',
  failed: 'error',
}

/** The severity of an ending; undefined if it needs no report. */
export function severityOf({ reason }: RunResult): Severity | undefined {
  return reason === 'completed' ? undefined : severities[endings[reason].announcement]
}
