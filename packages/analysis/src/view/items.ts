import { endings } from '@halting/core'
import { isJsonObject } from '@halting/core/adapters'
import { GoalRoundReader, type RecordedRound } from '../account/goal.ts'
import { ServiceWaitReader } from '../account/service-waits.ts'
import { LimitPauseReader } from '../account/limit-pauses.ts'
import { limitPauseText, refusalText } from '../words/service-words.ts'
import { recordedStep, recordedSteps, type RecordedStep, type RecordedSteps } from '../account/recorded-steps.ts'
import type { StepRecord } from '@halting/core/steps'
import { agentPathOf } from './agent-path.ts'
import { callPlaceOf, kindOf, LabelledCalls, labelOfControl, labelOfStep, oneLabel, statusOf } from './labels.ts'
import { callKey, compactionKey, inboxKey, replyKey, roundKey, waitKey } from './parts.ts'
import { turnOf, type Spent } from './turn-of.ts'
import type { ItemKind, TimelineItem } from './types.ts'

/** An item whose part of the transcript is identified by `partKey`. */
export type UnplacedItem = Omit<TimelineItem, 'id' | 'part'> & { readonly partKey?: string | undefined }
type Item = { -readonly [field in keyof UnplacedItem]: UnplacedItem[field] }

/** One turn of the main loop while it is being read. */
interface OpenTurn {
  readonly turn: number
  /** The earliest start: items of a background agent that began before the turn do not extend it. */
  readonly notBeforeMs: number
  item: Item | undefined
}

/**
 * The bars and marks of a run, by start. Each intent or result belongs to exactly one of them; turns and agents are spans around others. Times are
 * those of the record: nothing is invented for items without a result.
 */
export function timelineOf(
  records: readonly StepRecord[],
  recorded: RecordedSteps = recordedSteps(records),
): readonly UnplacedItem[] {
  const reader = new ItemReader(records, recorded)
  for (const [index, record] of records.entries()) reader.read(record, index)
  return reader.end()
}

class ItemReader {
  readonly #beganAt: number
  readonly #items: Item[] = []
  /** Intents without a result, by key, with the index of the first. */
  readonly #open = new Map<string, { readonly index: number; readonly record: IntentRecord }>()
  readonly #calls: LabelledCalls
  readonly #rounds = new GoalRoundReader()
  readonly #waits = new ServiceWaitReader()
  readonly #pauses = new LimitPauseReader()
  readonly #turns: OpenTurn[] = []
  /** The span of each agent's steps, by scope. */
  readonly #agents = new Map<string, Item>()
  /** The current request of the main loop. */
  #request = 0
  #latestMs = 0
  #compactions = 0

  constructor(records: readonly StepRecord[], recorded: RecordedSteps) {
    const [first] = records
    this.#beganAt = first?.type === 'start' ? first.at : 0
    this.#calls = new LabelledCalls(recorded)
  }

  read(record: StepRecord, index: number): void {
    switch (record.type) {
      case 'start':
        if (record.scope === '') this.#beginIteration(record.start.spent, 0)
        return
      case 'intent': {
        const firstIndex = this.#open.get(record.key)?.index ?? index
        this.#open.set(record.key, { index: firstIndex, record })
        this.#waits.read(record)
        return
      }
      case 'result':
        this.#result(record, index)
        return
      case 'control': {
        this.#pauses.read(record)
        const { scope } = recordedStep(record.key, record.at, 0, false)
        const inboxId = record.control.messages?.[0]?.id
        const partKey = inboxId === undefined ? undefined : inboxKey(inboxId)
        this.#mark('control', record.at, { label: labelOfControl(record.control), index, scope, partKey })
        return
      }
      case 'lap': {
        const { scope, transition, spent } = record.lap
        if (transition !== 'next_turn') this.#mark('lap', spent.now, { label: transition, index, scope })
        if (scope === '') this.#beginIteration(spent, this.#since(spent.now))
        return
      }
      case 'end': {
        const { reason, signal } = record.terminal
        const { exitCode, parentResult } = endings[reason]
        const status = exitCode === 0 ? 'done' : 'failed'
        const agent = record.scope === '' ? undefined : this.#agents.get(record.scope)
        if (agent !== undefined) agent.status = parentResult
        if (record.scope === '')
          this.#mark('ending', record.spent.now, { label: `${reason}: ${signal.message}`, index, scope: '', status })
        return
      }
      case 'rewind':
      case 'stage':
    }
  }

  end(): readonly Item[] {
    for (const { record, index } of this.#open.values()) {
      const step = recordedStep(record.key, record.at, 0, true)
      const { model, tokens, nanos } = isJsonObject(record.intent) ? record.intent : {}
      const wait = this.#waits.openAt(record.key)
      this.#add({
        ...this.#itemOf(step, typeof model === 'string' ? model : undefined),
        ...(wait !== undefined && { label: oneLabel(`For ${refusalText(wait)}`) }),
        endMs: null,
        status: 'open',
        tokens: numberOf(tokens),
        costUsd: numberOf(nanos) / 1e9,
        firstRecord: index,
        lastRecord: index,
      })
    }
    const turns = this.#turns.flatMap(({ item }) => (item === undefined ? [] : [item]))
    for (const [index, turn] of turns.entries()) {
      const next = turns[index + 1]?.startMs ?? Infinity
      turn.endMs = Math.max(turn.startMs, Math.min(turn.endMs ?? Infinity, next))
    }
    return [...this.#items, ...turns, ...this.#agents.values()].toSorted(
      (a, b) => a.startMs - b.startMs || a.firstRecord - b.firstRecord || order(a) - order(b),
    )
  }

  #beginIteration(spent: Spent, notBeforeMs: number): void {
    this.#request = spent.request
    const turn = turnOf(spent)
    if (this.#turns.at(-1)?.turn !== turn) this.#turns.push({ turn, notBeforeMs, item: undefined })
  }

  #result(record: ResultRecord, index: number): void {
    const { key, value, at, durationMs } = record
    const step = recordedStep(key, at, durationMs, false)
    const intent = this.#open.get(key)
    this.#open.delete(key)
    const fields = isJsonObject(value) ? value : {}
    const charge = isJsonObject(fields['charge']) ? fields['charge'] : undefined
    const { model, tokens, nanos } = charge ?? {}
    const item = this.#itemOf(step, typeof model === 'string' ? model : undefined)
    const { message, result } = fields
    if (isJsonObject(message) && step.scope === '' && typeof message['id'] === 'string')
      item.partKey = replyKey(message['id'])
    if (step.scope === '' && isJsonObject(result) && result['kind'] === 'compacted')
      item.partKey = compactionKey(this.#compactions++)
    const round = this.#rounds.read(record)
    if (round !== undefined) {
      const about = round.tampered.length > 0 ? 'changed definition' : (round.checks.at(-1)?.name ?? '')
      item.label = oneLabel(`goal: ${about}`)
      if (step.scope === '') item.partKey = roundKey(round.request, round.place)
    }
    const wait = this.#waits.read(record)
    if (wait !== undefined) {
      item.label = oneLabel(`For ${refusalText(wait)}`)
      item.waitedMs = wait.waitedMs
      if (step.scope === '') item.partKey = waitKey(step.name)
    }
    const pause = this.#pauses.read(record)
    if (pause !== undefined) {
      item.label = oneLabel(limitPauseText(pause))
      item.waitedMs = pause.waitedMs
      item.partKey = waitKey(step.name)
    }
    item.status = wait?.outcome ?? pause?.outcome ?? (round === undefined ? statusOf(fields) : statusOfRound(round))
    // A tool or a judged goal that asks a model does so in separate attempts.
    if ((item.kind === 'tool' || item.kind === 'check') && charge !== undefined) item.kind = 'attempt'
    item.tokens = numberOf(tokens)
    item.costUsd = numberOf(nanos) / 1e9
    item.firstRecord = intent?.index ?? index
    item.lastRecord = index
    this.#add(item)
  }

  #itemOf(step: RecordedStep, model: string | undefined): Item {
    const { scope, name } = step
    const startMs = this.#since(step.at)
    const call = this.#calls.at(scope, callPlaceOf(name))
    // In the transcript of the main loop, an agent is shown within the call that started it.
    const outermost = scope === '' ? call : this.#calls.at('', outermostPlace.exec(scope)?.[1])
    return {
      kind: kindOf(step),
      scope,
      // The final answer of a run has its own step name.
      request: scope === '' && (step.request === 0 || name.startsWith('wrap_up')) ? this.#request : step.request,
      startMs,
      endMs: startMs + Math.max(0, step.durationMs),
      label: oneLabel(call === undefined && model !== undefined ? model : labelOfStep(name, call?.label)),
      status: '',
      tokens: 0,
      costUsd: 0,
      firstRecord: 0,
      lastRecord: 0,
      partKey: outermost === undefined ? undefined : callKey(outermost.id),
    }
  }

  #add(item: Item): void {
    this.#items.push(item)
    const endMs = item.endMs ?? item.startMs
    this.#latestMs = Math.max(this.#latestMs, endMs)
    const open = this.#turns.at(-1)
    if (open !== undefined) {
      const begun = { kind: 'turn', scope: '', label: `turn ${open.turn}`, request: this.#request } as const
      open.item = widened(open.item, item, begun, open.notBeforeMs)
      if (item.kind === 'attempt' && item.scope === '') open.item.partKey ??= item.partKey
    }
    let { scope } = item
    for (let path = agentPathOf(scope); path !== undefined; path = agentPathOf(scope)) {
      const { caller, place, request } = path
      const label = this.#calls.at(caller, place)?.label ?? 'agent'
      const span = widened(this.#agents.get(scope), item, { kind: 'agent', scope, label, request })
      span.partKey = item.partKey
      this.#agents.set(scope, span)
      scope = caller
    }
  }

  #mark(
    kind: ItemKind,
    at: number,
    {
      label,
      index,
      scope,
      status = '',
      partKey,
    }: Pick<Item, 'label' | 'scope' | 'partKey'> & { index: number; status?: string },
  ): void {
    const startMs = Math.max(this.#since(at), kind === 'ending' ? this.#latestMs : 0)
    this.#items.push({
      kind,
      scope,
      request: this.#request,
      startMs,
      endMs: startMs,
      label: oneLabel(label),
      status,
      tokens: 0,
      costUsd: 0,
      firstRecord: index,
      lastRecord: index,
      partKey,
    })
  }

  /** Clocks of other programs may go back. */
  #since(at: number): number {
    return Math.max(0, at - this.#beganAt)
  }
}

function statusOfRound({ isCut, met }: RecordedRound): string {
  return isCut ? 'aborted' : met ? 'met' : 'unmet'
}

type IntentRecord = Extract<StepRecord, { readonly type: 'intent' }>
type ResultRecord = Extract<StepRecord, { readonly type: 'result' }>

/** Extends a span to include an item, or begins it. */
function widened(
  span: Item | undefined,
  item: Item,
  begun: Pick<Item, 'kind' | 'scope' | 'label' | 'request'>,
  notBeforeMs = 0,
): Item {
  const { firstRecord, lastRecord, tokens, costUsd } = item
  const startMs = Math.max(item.startMs, notBeforeMs)
  const endMs = Math.max(startMs, item.endMs ?? 0)
  if (span === undefined) {
    const { kind, scope, label, request } = begun
    const figures = { startMs, endMs, label, status: '', tokens, costUsd, firstRecord, lastRecord }
    return { kind, scope, request, ...figures, partKey: undefined }
  }
  span.startMs = Math.min(span.startMs, startMs)
  span.endMs = Math.max(span.endMs ?? 0, endMs)
  span.firstRecord = Math.min(span.firstRecord, firstRecord)
  span.lastRecord = Math.max(span.lastRecord, lastRecord)
  span.tokens += tokens
  span.costUsd += costUsd
  return span
}

/** Spans come before the items that they contain, and the ending comes last. */
function order({ kind }: Item): number {
  return kind === 'turn' ? 0 : kind === 'agent' ? 1 : kind === 'ending' ? 3 : 2
}

const outermostPlace = /^agent:(\d+:\d+):/

function numberOf(value: unknown): number {
  return typeof value === 'number' && value > 0 ? value : 0
}
