import { isJsonObject, isText, isToolUse, textOf } from '@halting/core/adapters'
import type { ContentBlock } from '@halting/core'
import type { StageRecord } from '@halting/core/after'
import type { StepRecord } from '@halting/core/steps'
import { GoalRoundReader } from '../account/goal.ts'
import { noticesOfReply } from '../account/recorded-notices.ts'
import { ServiceWaitReader } from '../account/service-waits.ts'
import { serviceWaitText } from '../words/service-words.ts'
import { roundText } from '../words/goal-words.ts'
import { elapsed, many, money } from '../words/figures.ts'

/** A line about a step of a run. */
export interface ReplayLine {
  /** Active time of the run; null for a line without its own time. */
  readonly atMs: number | null
  /** The kind of step, in a word. */
  readonly what: string
  /** What happened, in a line. */
  readonly text: string
}

/** The lines for one record; `beganAt` is when its run began. */
export function replayLines(record: StepRecord, beganAt: number): readonly ReplayLine[] {
  switch (record.type) {
    case 'start': {
      const prompts = record.start.added.flatMap((entry) =>
        entry.kind === 'user' ? [textOf(entry.message.content)] : [],
      )
      return [{ atMs: 0, what: 'start', text: [record.start.run.runId, ...prompts].join(': ') }]
    }
    case 'intent':
      return []
    case 'result': {
      const round = new GoalRoundReader().read(record)
      if (round !== undefined)
        return [
          {
            atMs: record.at + record.durationMs - beganAt,
            what: 'goal',
            text: roundText(round) + inScope(round.scope),
          },
        ]
      const wait = new ServiceWaitReader().read(record)
      if (wait !== undefined)
        return [
          {
            atMs: record.at + record.durationMs - beganAt,
            what: 'wait',
            text: `${serviceWaitText(wait)}${inScope(wait.scope)}`,
          },
        ]
      return [
        ...resultLines(record, record.at + record.durationMs - beganAt),
        ...noticesOfReply(record).map((text) => ({ atMs: null, what: 'notice', text })),
      ]
    }
    case 'control':
      return [{ atMs: record.at - beganAt, what: 'control', text: JSON.stringify(record.control) }]
    case 'stage':
      return stageLines(record.stage)
    case 'rewind':
      return [{ atMs: null, what: 'rewind', text: record.after === null ? 'to the beginning' : `to ${record.after}` }]
    case 'lap':
      return [{ atMs: null, what: 'lap', text: `${record.lap.transition}${inScope(record.lap.scope)}` }]
    case 'end': {
      const { reason, signal } = record.terminal
      return [{ atMs: null, what: 'end', text: `${reason}: ${signal.message}${inScope(record.scope)}` }]
    }
  }
}

function stageLines(stage: StageRecord): readonly ReplayLine[] {
  if (stage.phase === 'began') return []
  return [
    {
      atMs: null,
      what: 'stage',
      text: `${stage.name}: ${stage.reason}${stage.message === '' ? '' : `: ${stage.message}`}`,
    },
  ]
}

function inScope(scope: string): string {
  return scope === '' ? '' : ` (${scope})`
}

/** A request with its reply, texts and calls; a call with its result; any other step by its key. */
function resultLines(
  { key, value, durationMs }: Extract<StepRecord, { readonly type: 'result' }>,
  atMs: number,
): readonly ReplayLine[] {
  const name = key.slice(key.indexOf('/') + 1)
  const took = elapsed(durationMs)
  const ofLimits = limitLine(name, value, took)
  if (ofLimits !== undefined) return [{ atMs, ...ofLimits }]
  if (!isJsonObject(value)) return [{ atMs, what: name, text: took }]
  const { kind, message, status, content } = value
  if (typeof kind === 'string') {
    const blocks = isJsonObject(message) && Array.isArray(message['content']) ? message['content'] : []
    return [
      { atMs, what: name, text: `${kind}, ${took}` },
      ...(blocks as readonly ContentBlock[]).flatMap((block): readonly ReplayLine[] => {
        if (isText(block)) return [{ atMs: null, what: 'said', text: block.text }]
        return isToolUse(block)
          ? [{ atMs: null, what: 'asks', text: `${block.name} ${JSON.stringify(block.input)}` }]
          : []
      }),
    ]
  }
  if (typeof status !== 'string' || content === undefined) return [{ atMs, what: name, text: took }]
  // The step engine records a result with message content for a call.
  const text = textOf(content as string | readonly ContentBlock[])
  return [{ atMs, what: name, text: `${status}, ${took}: ${text}` }]
}

/** The line of a step about a limit or a standing budget; undefined for any other step. */
function limitLine(name: string, value: unknown, took: string): Pick<ReplayLine, 'what' | 'text'> | undefined {
  const own = name.slice(name.lastIndexOf('/') + 1)
  if (own.startsWith('call_limit:') && typeof value === 'number')
    return { what: name, text: `${many(value, 'more tool call')} may run before the limit is reached` }
  if (!isJsonObject(value)) return undefined
  const { text, outcome, budget, reservedUsd, message } = value
  if (own.startsWith('limit_question:') && typeof message === 'string')
    return { what: name, text: `Raise the limit? ${message}` }
  if (own.startsWith('limits:') && typeof text === 'string') return { what: name, text }
  if (!own.startsWith('standing:') || typeof outcome !== 'string' || typeof budget !== 'string') return undefined
  const others =
    typeof reservedUsd === 'number' && budget !== '' ? `: others had reserved ${money(reservedUsd)} of ${budget}` : ''
  return { what: name, text: `${outcome}, ${took}${others}` }
}
