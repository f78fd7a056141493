import type { Attributes } from '@opentelemetry/api'
import type { LoopEvent } from '@halting/core'
import { AttemptTraces } from './attempt-traces.ts'
import { CallTraces } from './call-traces.ts'
import { LimitsUsed } from './limits-used.ts'
import { inputTokensOf } from './metrics.ts'
import { conventionAttributes as told, eventNames, ownAttributes as own, spanNames } from './names.ts'
import { TraceNode } from './node.ts'
import type { TraceScope } from './scope.ts'

type EventOf<Type extends LoopEvent['type']> = Extract<LoopEvent, { readonly type: Type }>

/** Where a run stands in its trace. */
export interface RunPlace {
  /** The call that started it, or the trace from outside. */
  readonly parent: ConstructorParameters<typeof TraceNode>[1]
  readonly agentName: string
  readonly description?: string | undefined
  readonly isBackground: boolean
  readonly depth: number
  /** It goes on from an earlier process: what comes before the first sign of work was told there. */
  readonly isResumed: boolean
  readonly sessionId?: string | undefined
}

/** The spans and metrics of one run, or of one subagent, made of what it tells. */
export class RunTrace {
  readonly #scope: TraceScope
  readonly #place: RunPlace
  readonly #root: TraceNode
  readonly #attempts: AttemptTraces
  readonly #calls: CallTraces
  readonly #limits = new LimitsUsed()
  readonly #hooks = new Map<string, TraceNode[]>()
  readonly #agents = new Map<string, RunTrace>()
  #turn: TraceNode | undefined
  #compaction: TraceNode | undefined
  /** This process does something of it. */
  #isLive: boolean
  #runId: string | undefined
  isOver = false

  constructor(scope: TraceScope, place: RunPlace, start: EventOf<'run_start'> | undefined) {
    this.#scope = scope
    this.#place = place
    this.#isLive = !place.isResumed
    const { sessionId = place.sessionId, agentId, runId } = start?.run ?? {}
    this.#runId = runId
    const { SpanKind } = scope.api
    this.#root = new TraceNode(
      scope.tracing,
      place.parent,
      {
        name: `invoke_agent ${place.agentName}`,
        kind: SpanKind.INTERNAL,
        attributes: {
          [told.operation]: 'invoke_agent',
          [told.agentName]: place.agentName,
          [own.depth[0]]: place.depth,
          ...(sessionId !== undefined && { [told.conversation]: sessionId }),
          ...(runId !== undefined && { [own.runId[0]]: runId }),
          ...(agentId !== undefined && { [told.agentId]: agentId }),
          ...(place.description !== undefined && { [told.agentDescription]: scope.texts.text(place.description) }),
          ...(place.isBackground && { [own.background[0]]: true }),
          ...(place.isResumed && { [own.resumed[0]]: true }),
          ...(start !== undefined && {
            [told.requestModel]: start.model,
            [told.provider]: scope.providerOf(start.model),
          }),
        },
      },
      scope.now(),
    )
    this.#attempts = new AttemptTraces(scope, () => this.#isLive)
    this.#calls = new CallTraces(scope, () => this.#isLive)
    if (this.#isLive) this.#root.begin()
  }

  /** The span of a call that runs, of this run or of one below it. */
  nodeOf(callId: string): TraceNode | undefined {
    const node = this.#calls.nodeOf(callId)
    if (node?.isEnded === false) return node
    for (const agent of this.#agents.values()) {
      const found = agent.nodeOf(callId)
      if (found !== undefined) return found
    }
    return undefined
  }

  get root(): TraceNode {
    return this.#root
  }

  see(event: LoopEvent): void {
    switch (event.type) {
      case 'model_update':
        return this.#attempts.update(event)
      case 'figures':
        this.#limits.see(event)
        if (this.#attempts.running()) this.#lives()
        return
      case 'guards':
        return this.#limits.see(event)
      case 'turn_start':
        return this.#turnStarts(event)
      case 'model_start':
        return this.#attempts.start(event, this.#turn ?? this.#root)
      case 'model_end':
        return this.#attempts.end(event)
      case 'question_start':
        this.#lives()
        return this.#attempts.questionStart(event, this.#compaction ?? this.#turn ?? this.#root)
      case 'question_end':
        return this.#attempts.questionEnd(event)
      case 'retry':
        return this.#retry(event)
      case 'message':
        return this.#message(event)
      case 'tool_start':
        this.#attempts.flush()
        return this.#calls.start(event, this.#turn ?? this.#root)
      case 'tool_running':
        this.#lives()
        return this.#calls.running(event)
      case 'tool_update':
        return this.#calls.running(event)
      case 'tool_end':
        return this.#calls.end(event)
      case 'hook_start':
        return this.#hookStarts(event)
      case 'hook_end':
        return this.#hookEnds(event)
      case 'compact_start':
        return this.#compactionStarts(event)
      case 'compact_end':
        return this.#compactionEnds(event)
      case 'signal':
        return this.#signal(event)
      case 'lap':
        return this.#lap(event)
      case 'agent':
        return this.#agent(event)
      case 'run_end':
        return this.#end(event)
      default:
    }
  }

  /** A sign of work that no record has. */
  #lives(): void {
    if (this.#isLive) return
    this.#isLive = true
    this.#root.begin()
    this.#turn?.begin()
  }

  #node(name: string, attributes: Attributes, parent: TraceNode): TraceNode {
    const { tracing, api, now } = this.#scope
    const node = new TraceNode(tracing, parent, { name, kind: api.SpanKind.INTERNAL, attributes }, now())
    if (this.#isLive) node.begin()
    return node
  }

  #turnStarts({ request, turn }: EventOf<'turn_start'>): void {
    this.#turnEnds()
    this.#turn = this.#node(spanNames.turn[0], { [own.request[0]]: request, [own.turn[0]]: turn }, this.#root)
  }

  #turnEnds(transition?: string): void {
    this.#attempts.flush()
    this.#calls.flush()
    const turn = this.#turn
    this.#turn = undefined
    if (turn?.isBegun !== true) return
    const at = this.#scope.now()
    if (transition !== undefined) turn.set({ [own.transition[0]]: transition })
    turn.end(at)
    this.#scope.instruments?.turns.record((at - turn.startedAt) / 1000, this.#agentAttributes)
  }

  get #agentAttributes(): Attributes {
    return { [told.agentName]: this.#place.agentName }
  }

  #retry({ request, attempt, delayMs, error }: EventOf<'retry'>): void {
    this.#attempts.failed(error)
    if (!this.#isLive) return
    const { instruments, texts, now } = this.#scope
    const about = { [told.errorType]: error.kind }
    this.#root.event(
      eventNames.retry[0],
      {
        ...about,
        [own.request[0]]: request,
        [own.attempt[0]]: attempt,
        [own.delayMs[0]]: delayMs,
        [own.message[0]]: texts.text(error.message),
      },
      now(),
    )
    instruments?.retries.add(1, about)
  }

  #message({ entry }: EventOf<'message'>): void {
    this.#runId ??= /^(run[^/]*)\//.exec(entry.id)?.[1]
    const { texts } = this.#scope
    if (entry.kind === 'assistant') return this.#attempts.reply(entry)
    if (entry.kind !== 'user') return
    const { wants } = texts
    if (entry.origin === 'tool_results') {
      if (wants.toolResults) this.#calls.results(entry.message.content)
      this.#calls.flush()
      return
    }
    const isPersons = entry.origin === 'prompt' || entry.origin === 'steer' || entry.origin === 'follow_up'
    if (!isPersons || !wants.prompts || !this.#isLive) return
    this.#root.set({ [told.inputMessages]: texts.message('user', entry.message.content) })
  }

  #hookStarts({ hook, trigger, callId }: EventOf<'hook_start'>): void {
    const parent =
      (callId === null ? undefined : this.#calls.nodeOf(callId)) ?? this.#compaction ?? this.#turn ?? this.#root
    const node = this.#node(`halting.hook ${hook}`, { [own.hook[0]]: hook, [own.trigger[0]]: trigger }, parent)
    const key = hookKey(hook, trigger, callId)
    const open = this.#hooks.get(key)
    if (open === undefined) this.#hooks.set(key, [node])
    else open.push(node)
  }

  #hookEnds({ hook, trigger, callId, outcome, durationMs }: EventOf<'hook_end'>): void {
    const key = hookKey(hook, trigger, callId)
    const open = this.#hooks.get(key)
    const node = open?.shift()
    if (open?.length === 0) this.#hooks.delete(key)
    if (node?.isBegun !== true) return
    node.set({ [own.durationMs[0]]: durationMs })
    if (outcome.error !== undefined) {
      node.set({ [told.errorType]: 'hook_failed' })
      // A command that fails may print what it was given.
      const { texts } = this.#scope
      node.fail(texts.wants.toolInputs ? texts.text(outcome.error) : undefined)
    }
    node.end(this.#scope.now())
  }

  #compactionStarts({ trigger, tokens }: EventOf<'compact_start'>): void {
    const about = { [own.compactTrigger[0]]: trigger, [own.tokens[0]]: tokens }
    this.#compaction?.abandon(this.#scope.now())
    this.#compaction = this.#node(spanNames.compaction[0], about, this.#turn ?? this.#root)
  }

  #compactionEnds({ trigger, compacted, message }: EventOf<'compact_end'>): void {
    const node = this.#compaction
    this.#compaction = undefined
    if (node?.isBegun !== true) return
    const { instruments, texts, now } = this.#scope
    node.set({ [own.compacted[0]]: compacted, [own.message[0]]: texts.text(message) })
    node.end(now())
    instruments?.compactions.add(1, { [own.compactTrigger[0]]: trigger, [own.compacted[0]]: compacted })
  }

  #signal({ signal, checkpoint }: EventOf<'signal'>): void {
    const { texts, now } = this.#scope
    const about = { [own.category[0]]: signal.reason, [own.checkpoint[0]]: checkpoint }
    this.#root.event(eventNames.signal[0], { ...about, [own.message[0]]: texts.text(signal.message) }, now())
  }

  #lap(event: EventOf<'lap'>): void {
    const { transition, after, left } = event
    this.#limits.see(event)
    this.#turnEnds(transition)
    if (!this.#isLive) return
    const { instruments, now } = this.#scope
    const turnsLeft = left.next_turn === null ? {} : { [own.turnsLeft[0]]: left.next_turn }
    const about = { [own.transition[0]]: transition, ...turnsLeft, [own.othersLeft[0]]: after[2] }
    this.#root.event(eventNames.lap[0], about, now())
    instruments?.laps.add(1, { [own.transition[0]]: transition, ...this.#agentAttributes })
  }

  #agent({ callId, agentType, description, inBackground, event }: EventOf<'agent'>): void {
    if (event.type === 'run_start') {
      const parent = this.#calls.nodeOf(callId) ?? this.#turn ?? this.#root
      const place: RunPlace = {
        parent,
        agentName: agentType,
        description: this.#scope.texts.wants.prompts ? description : undefined,
        isBackground: inBackground === true,
        depth: event.run.depth,
        isResumed: !this.#isLive,
      }
      this.#agents.get(callId)?.abandon()
      this.#agents.set(callId, new RunTrace(this.#scope, place, event))
      return
    }
    const agent = this.#agents.get(callId)
    if (agent === undefined) return
    agent.see(event)
    // Its call begins with it, and so does what the call lies in.
    if (agent.#isLive && !this.#isLive) this.#lives()
    if (agent.isOver) this.#agents.delete(callId)
  }

  #end({ terminal }: EventOf<'run_end'>): void {
    const { texts, instruments, now } = this.#scope
    // A process that tells the end of a run is the one in which it ended, but for an agent that is on record.
    if (this.#place.depth === 0) this.#lives()
    if (!this.#isLive) return void (this.isOver = true)
    this.#turnEnds()
    const at = now()
    this.close(at)
    const { reason, signal, summary, costUsd, committedUsd, totalTokens, durationMs } = terminal
    const ending: Attributes = {
      [own.reason[0]]: reason,
      [own.category[0]]: signal.reason,
      [own.message[0]]: texts.text(signal.message),
      [own.costUsd[0]]: costUsd,
      [own.committedUsd[0]]: committedUsd,
      [own.tokens[0]]: totalTokens,
      [own.turns[0]]: summary.turns,
      [own.requests[0]]: summary.requests,
      [own.activeMs[0]]: durationMs,
    }
    const isFailure = signal.reason === 'error' || signal.reason === 'retry_limit'
    this.#root.set({
      ...ending,
      [told.inputTokens]: inputTokensOf(summary.usage),
      [told.outputTokens]: summary.usage.output_tokens,
      ...(this.#runId !== undefined && { [own.runId[0]]: this.#runId }),
      ...(isFailure && { [told.errorType]: terminal.error?.code ?? reason }),
    })
    this.#root.event(eventNames.ending[0], ending, at)
    if (isFailure) this.#root.fail(texts.text(signal.message))
    this.#root.end(at)
    this.isOver = true
    if (instruments === undefined) return
    const about = { [own.reason[0]]: reason, [own.category[0]]: signal.reason, ...this.#agentAttributes }
    instruments.endings.add(1, about)
    instruments.runs.record((at - this.#root.startedAt) / 1000, about)
    instruments.operation((at - this.#root.startedAt) / 1000, {
      [told.operation]: 'invoke_agent',
      [told.provider]: 'halting',
      ...this.#agentAttributes,
      ...(isFailure && { [told.errorType]: reason }),
    })
    for (const [limit, used] of this.#limits.atEnd(terminal)) instruments.limits.record(used, { [own.limit[0]]: limit })
  }

  /** Nothing tells how it ended. */
  abandon(at: number = this.#scope.now()): void {
    this.close(at)
    this.#root.abandon(at)
  }

  /** Nothing more is told of what is open. */
  close(at: number = this.#scope.now()): void {
    for (const agent of this.#agents.values()) agent.abandon(at)
    this.#agents.clear()
    this.#attempts.close(at)
    this.#calls.close(at)
    const open = [...[...this.#hooks.values()].flat(), this.#compaction, this.#turn]
    this.#hooks.clear()
    this.#compaction = undefined
    this.#turn = undefined
    for (const node of open) node?.abandon(at)
  }
}

function hookKey(hook: string, trigger: string, callId: string | null): string {
  return `${hook}\n${trigger}\n${callId ?? ''}`
}
