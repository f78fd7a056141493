import { isJsonObject } from '@halting/core/adapters'
import { isServiceWait } from '../account/service-waits.ts'
import { isLookUp, type RecordedStep, type RecordedSteps } from '../account/recorded-steps.ts'
import type { ExternalInput } from '@halting/core/steps'
import { callLabel, maxLabelLength } from './call-label.ts'
import type { ItemKind } from './types.ts'

/** A label on one line. */
export function oneLabel(text: string): string {
  // Only the beginning of a long text is processed.
  return text
    .slice(0, 4 * maxLabelLength)
    .replaceAll(/\s+/g, ' ')
    .trim()
    .slice(0, maxLabelLength)
}

/** A call with its label: the tool and the first text of its input. */
interface LabelledCall {
  readonly id: string
  readonly label: string
}

/** The calls of a run by position: scope, request, and index in the reply. Ids are not unique, because a model chooses them. */
export class LabelledCalls {
  readonly #calls = new Map<string, LabelledCall>()

  constructor({ requests }: RecordedSteps) {
    for (const { scope, name: step, request, calls } of requests) {
      // The final answer of a run counts its requests separately.
      if (!step.startsWith('model:')) continue
      for (const [index, { id, name, input }] of calls.entries())
        this.#calls.set(`${scope}|${request}:${index}`, { id, label: oneLabel(callLabel(name, input)) })
    }
  }

  /** `place`: request and index, such as `3:0`. */
  at(scope: string, place: string | undefined): LabelledCall | undefined {
    return this.#calls.get(`${scope}|${place}`)
  }
}

/** The request and index of the call that a step belongs to: its tool, its permission, or its stored result. */
export function callPlaceOf(name: string): string | undefined {
  return /^(?:tool|permission|approval|rules|save):(\d+:\d+):/.exec(name)?.[1]
}

/** The kind of a step, for people. */
export function kindOf({ phase, name, isOpen }: Pick<RecordedStep, 'phase' | 'name' | 'isOpen'>): ItemKind {
  if (isServiceWait(name) || name.startsWith('limit_end:')) return 'wait'
  // A pause that has ended is represented by its end.
  if (name.startsWith('limit_answer:')) return isOpen ? 'wait' : 'other'
  switch (phase) {
    case 'model':
      return 'attempt'
    case 'compaction':
      return 'compaction'
    case 'tools':
      return 'tool'
    case 'hooks':
      return 'hook'
    case 'checks':
      return 'check'
    case 'waiting':
      return name.startsWith('rules:') ? 'other' : 'wait'
    case 'other':
      return 'other'
  }
}

/** What a step waits for, by the beginning of its name. */
const waits: readonly (readonly [start: string, label: string])[] = [
  ['permission:', 'Permission for'],
  ['approval:', 'Approval of'],
  ['retry:', 'Before a retry'],
  ['retry.', 'Before a retry'],
  ['admit:', 'For a free place at the service'],
  ['funds:', 'For money that other requests reserved'],
  ['standing:', 'For money that others reserved of a standing budget'],
  ['background', 'For background work'],
  ['limit_answer:', 'For an answer at a limit'],
]

/** Steps about limits, by the beginning of their name. */
const limitSteps: readonly (readonly [start: string, label: string])[] = [
  ['limits:', 'Reminder of what is left'],
  ['call_limit:', 'Limit of tool calls'],
  ['limit_question:', 'Question at a limit'],
  ['limit_end:', 'Pause at a limit'],
]

/** A step in words: what it waits for, the hook, or the call; else the name of the step. */
export function labelOfStep(name: string, callLabel: string | undefined): string {
  if (isServiceWait(name)) return 'For the service'
  if (isLookUp(name)) return 'Cost of a lost request'
  const wait = waits.find(([start]) => name.startsWith(start))?.[1]
  if (wait !== undefined) return callLabel === undefined ? wait : `${wait} ${callLabel}`
  if (callLabel !== undefined) return callLabel
  const limit = limitSteps.find(([start]) => name.startsWith(start))?.[1]
  if (limit !== undefined) return limit
  const round = /^goal:\d+:([a-z]+)/.exec(name)?.[1]
  if (round !== undefined) return `goal (${round})`
  const hook = /^hook:([^:]*):\d+:(.*)$/s.exec(name)
  // The name has the trigger, then its subject, and the hook's id last.
  return hook === null ? name : `${hook[1] ?? ''} ${(hook[2] ?? '').split(':').at(-1) ?? ''}`
}

/** The status of a result: the kind of a request, the status of a call, or the decision of a rule. */
export function statusOf(value: { readonly [field: string]: unknown }): string {
  const { kind, status, behavior, outcome, result } = value
  const recorded = status ?? kind ?? behavior ?? outcome ?? (isJsonObject(result) ? result['kind'] : undefined)
  return typeof recorded === 'string' ? recorded : ''
}

/** The input of a person or a program during the run, in words. */
export function labelOfControl({ abort, signals, messages, settings, tasks, agents, reply }: ExternalInput): string {
  if (abort !== undefined) return `abort: ${abort}`
  if (signals !== undefined) return `stop: ${signals.map(({ message }) => message).join('; ')}`
  if (messages !== undefined)
    return messages.map(({ kind }) => (kind === 'steer' ? 'steered' : 'followed up')).join(', ')
  if (settings !== undefined) return `set: ${Object.keys(settings).join(', ')}`
  if (tasks !== undefined || agents !== undefined) return 'work in the background ended'
  if (reply !== undefined) return `reply ${reply.id} began`
  return 'left behind'
}
