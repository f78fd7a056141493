import type { Attributes, SpanContext } from '@opentelemetry/api'
import type { RunEvent, MessageContent, IterationReason } from '@halting/core'
import { isBuiltinHook } from '@halting/core/adapters'
import { AttemptTraces } from './attempt-traces.ts'
import { CallTraces } from './call-traces.ts'
import { exportedName, promptText } from './content.ts'
import { goalAttributes, GoalTraces, verdictOf } from './goal-traces.ts'
import { LimitsUsed, endingAttributes, errorTypeOf } from './run-ending.ts'
import { inputTokensOf } from './metrics.ts'
import { conventionAttributes as genAi, eventNames, ownAttributes as own, spanNames } from './names.ts'
import { TraceNode } from './node.ts'
import type { TraceScope } from './scope.ts'
import { WaitTraces } from './wait-traces.ts'

type EventOf<Type extends RunEvent['type']> = Extract<RunEvent, { readonly type: Type }>

/** The place of a run in its trace. */
export interface RunPlace {
  /** The call that started it, or an external trace. */
  readonly parent: ConstructorParameters<typeof TraceNode>[1]
  readonly agentName: string
  readonly description?: string | undefined
  readonly isBackground: boolean
  readonly depth: number
  /** An earlier process started the run, and exported everything before the first live event. */
  readonly isResumed: boolean
  readonly sessionId?: string | undefined
  /** Id of the external parent span. */
  readonly outerSpanId?: string | undefined
}

/** Creates the spans and metrics of one run or subagent from its events. */
export class RunTrace {
  readonly #scope: TraceScope
  readonly #place: RunPlace
  readonly #root: TraceNode
  readonly #attempts: AttemptTraces
  readonly #calls: CallTraces
  readonly #limits = new LimitsUsed()
  readonly #hooks: HookTraces
  readonly #goals: GoalTraces
  readonly #waits: WaitTraces
  readonly #agents = new Map<string, RunTrace>()
  /** Metric attributes of the run. */
  readonly #about: Attributes
  readonly #iterationAttributes = new Map<IterationReason, Attributes>()
  readonly #agentName: string
  /** User prompts, if they are exported. */
  readonly #prompts: MessageContent[] = []
  #model: string | undefined
  #turn: TraceNode | undefined
  #compaction: TraceNode | undefined
  /** Whether this process executes any part of the run. */
  #isLive: boolean
  #runId: string | undefined
  readonly #beganAt: number
  /** When the last pause at a limit began, in milliseconds since 1970. */
  #pausedAt = 0
  /** Calls that were allowed to run, including those of subagents. */
  #toolCalls = 0
  isOver = false
  /** False if all providers are no-ops, so that events can be ignored. */
  isObserved = true

  constructor(scope: TraceScope, place: RunPlace, start: EventOf<'run_start'> | undefined) {
    this.#scope = scope
    this.#place = place
    this.#isLive = !place.isResumed
    this.#beganAt = scope.now()
    const { sessionId: given = place.sessionId, agentId, runId } = start?.run ?? {}
    const sessionId = given === undefined ? undefined : exportedName(given)
    this.#agentName = exportedName(place.agentName)
    this.#runId = runId
    this.#model = start?.model
    this.#about = { [genAi.agentName]: this.#agentName }
    const attributes: Attributes = {
      [genAi.operation]: 'invoke_agent',
      ...this.#about,
      [own.depth[0]]: place.depth,
      ...(sessionId !== undefined && { [genAi.conversation]: sessionId }),
      ...(runId !== undefined && { [own.runId[0]]: exportedName(runId) }),
      ...(agentId !== undefined && { [genAi.agentId]: exportedName(agentId) }),
      ...(place.description !== undefined && { [genAi.agentDescription]: scope.texts.text(place.description) }),
      ...(place.isBackground && { [own.background[0]]: true }),
      ...(place.isResumed && { [own.resumed[0]]: true }),
      ...(start !== undefined && this.#modelAttributes(start.model)),
    }
    this.#root = this.#newNode(`invoke_agent ${this.#agentName}`, attributes, place.parent)
    this.#attempts = new AttemptTraces(scope, sessionId, () => this.#isLive)
    this.#calls = new CallTraces(scope, () => this.#isLive)
    this.#hooks = new HookTraces(scope)
    this.#goals = new GoalTraces(scope)
    this.#waits = new WaitTraces(scope, this.#about)
    if (this.#isLive) this.#begin()
  }

  #begin(): void {
    this.#root.begin()
    if (this.#scope.instruments !== undefined) return
    // The span of a no-op tracer is invalid, or equals its parent.
    const place = this.#root.spanContext
    this.isObserved = place !== undefined && place.spanId !== this.#place.outerSpanId
  }

  /** Returns the span of a running call, of this run or a subagent. */
  nodeOf(callId: string): TraceNode | undefined {
    const node = this.#calls.nodeOf(callId)
    if (node?.isEnded === false) return node
    for (const agent of this.#agents.values()) {
      const found = agent.nodeOf(callId)
      if (found !== undefined) return found
    }
    return undefined
  }

  /** Returns the context of a running call's span, or else of the run's span. */
  placeOf(callId: string): SpanContext | undefined {
    return (this.nodeOf(callId) ?? this.#root).spanContext
  }

  observe(event: RunEvent): void {
    switch (event.type) {
      case 'model_update':
        return this.#attempts.update(event)
      case 'figures':
        this.#limits.observe(event)
        if (this.#attempts.running()) this.#markLive()
        return
      case 'guards':
        return this.#limits.observe(event)
      case 'turn_start':
        return this.#startTurn(event)
      case 'model_start':
        this.#model ??= event.model
        return this.#attempts.start(event, this.#turn ?? this.#root)
      case 'model_end':
        return this.#attempts.end(event)
      case 'question_start':
        this.#markLive()
        return this.#attempts.questionStart(event, this.#requestParent)
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
        this.#markLive()
        return this.#calls.running(event)
      case 'tool_update':
        return this.#calls.running(event)
      case 'tool_end':
        this.#countCall(event)
        return this.#calls.end(event)
      case 'hook_start':
        return this.#startHook(event)
      case 'hook_end':
        return this.#hooks.end(event)
      case 'compact_start':
        return this.#startCompaction(event)
      case 'compact_end':
        return this.#endCompaction(event)
      case 'goal_start':
        this.#attempts.flush()
        return this.#goals.start(this.#node(spanNames.goal[0], this.#goals.aboutStart(event), this.#turn ?? this.#root))
      case 'goal_end':
        this.#limits.observe(event)
        return this.#goals.end(event)
      case 'signal':
        return this.#signal(event)
      case 'lap':
        return this.#recordIteration(event)
      case 'agent':
        return this.#agent(event)
      case 'run_end':
        return this.#end(event)
      default:
        this.#observeWait(event)
    }
  }

  #observeWait(event: RunEvent): void {
    switch (event.type) {
      case 'budget_waited':
        return this.#recordBudgetWait(event)
      case 'limit_question':
        this.#pausedAt = event.request.sinceMs
        return
      case 'limit_answered':
        return this.#recordLimitPause(event)
      case 'service_wait':
        return this.#startServiceWait(event)
      case 'service_waited':
        return this.#endServiceWait(event)
      default:
    }
  }

  /** Handles a live event, which is not recorded: this process executes the run. */
  #markLive(): void {
    if (this.#isLive) return
    this.#isLive = true
    this.#begin()
    this.#turn?.begin()
  }

  #modelAttributes(model: string): Attributes {
    return { [genAi.requestModel]: exportedName(model), [genAi.provider]: this.#scope.providerOf(model) }
  }

  #node(name: string, attributes: Attributes, parent: TraceNode): TraceNode {
    const node = this.#newNode(name, attributes, parent)
    if (this.#isLive) node.begin()
    return node
  }

  #newNode(name: string, attributes: Attributes, parent: RunPlace['parent']): TraceNode {
    const { tracing, api, now } = this.#scope
    return new TraceNode(tracing, parent, name, { kind: api.SpanKind.INTERNAL, attributes, startTime: now() })
  }

  #startTurn({ request, turn }: EventOf<'turn_start'>): void {
    this.#endTurn()
    this.#turn = this.#node(spanNames.turn[0], { [own.request[0]]: request, [own.turn[0]]: turn }, this.#root)
  }

  #endTurn(transition?: string): void {
    this.#attempts.flush()
    this.#calls.flush()
    const turn = this.#turn
    this.#turn = undefined
    if (turn?.isBegun !== true) return
    const at = this.#scope.now()
    if (transition !== undefined) turn.set(own.transition[0], transition)
    turn.end(at)
    this.#scope.instruments?.turns.record(turn.secondsUntil(at), this.#about)
  }

  #retry({ request, attempt, delayMs, error }: EventOf<'retry'>): void {
    this.#attempts.failed(error)
    if (!this.#isLive) return
    const { instruments, texts, now } = this.#scope
    const about = { [genAi.errorType]: error.kind }
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

  #countCall({ status }: EventOf<'tool_end'>): void {
    if (status !== 'not_run') this.#toolCalls++
  }

  /** Records a wait for money or tokens that others had reserved, of a limit or a standing budget. */
  #recordBudgetWait(event: EventOf<'budget_waited'>): void {
    // A budget that is only slow to respond names no exhausted one.
    if (!this.#isLive || event.budget === '') return
    const figures = this.#waits.budgetWaited(event, this.#requestParent)
    this.#root.event(eventNames.budgetWait[0], figures, this.#scope.now())
  }

  #startServiceWait(event: EventOf<'service_wait'>): void {
    if (!event.isWaiting) return
    this.#markLive()
    // During a compaction the service refused a question, which has its own end.
    if (this.#compaction === undefined) this.#attempts.failed(event.error)
    this.#waits.serviceWaits(event, this.#requestParent)
  }

  /** Ends a wait. A wait that ended in an earlier process was exported there. */
  #endServiceWait(event: EventOf<'service_waited'>): void {
    if (this.#isLive) this.#waits.serviceWaited(event, this.#requestParent)
  }

  /** Records a pause. Pauses have no live event; one that ended after this process took over ended in it. */
  #recordLimitPause(event: EventOf<'limit_answered'>): void {
    if (this.#pausedAt + event.waitedMs > this.#beganAt) this.#markLive()
    if (this.#isLive) this.#waits.limitPaused(event, this.#turn ?? this.#root)
  }

  /** The parent of the current request. */
  get #requestParent(): TraceNode {
    return this.#goals.node ?? this.#compaction ?? this.#turn ?? this.#root
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
    const isPrompt = entry.origin === 'prompt' || entry.origin === 'steer' || entry.origin === 'follow_up'
    // A model wrote the prompt of a subagent.
    const isWanted = this.#place.depth === 0 ? wants.prompts : wants.toolInputs
    if (!isPrompt || !isWanted || !this.#isLive) return
    const { content } = entry.message
    this.#prompts.push(wants.toolResults ? content : promptText(content))
    this.#root.set(genAi.inputMessages, texts.messages('user', this.#prompts))
  }

  #startHook({ hook, trigger, callId }: EventOf<'hook_start'>): void {
    if (isBuiltinHook(hook)) return
    const parent =
      (callId === null ? undefined : this.#calls.nodeOf(callId)) ?? this.#compaction ?? this.#turn ?? this.#root
    const name = exportedName(hook)
    const about = { [own.hook[0]]: name, [own.trigger[0]]: trigger }
    this.#hooks.start({ hook, trigger, callId }, this.#node(`halting.hook ${name}`, about, parent))
  }

  #startCompaction({ trigger, tokens }: EventOf<'compact_start'>): void {
    const about = { [own.compactTrigger[0]]: trigger, [own.tokens[0]]: tokens }
    this.#compaction?.abandon(this.#scope.now())
    this.#compaction = this.#node(spanNames.compaction[0], about, this.#turn ?? this.#root)
  }

  #endCompaction({ trigger, compacted, message }: EventOf<'compact_end'>): void {
    const node = this.#compaction
    this.#compaction = undefined
    if (node?.isBegun !== true) return
    const { instruments, texts, now } = this.#scope
    node.set(own.compacted[0], compacted)
    // A hook may have written the reason why it was not compacted.
    const text = compacted ? texts.text(message) : texts.untrusted(message)
    if (text !== undefined) node.set(own.message[0], text)
    node.end(now())
    instruments?.compactions.add(1, { [own.compactTrigger[0]]: trigger, [own.compacted[0]]: compacted })
  }

  #signal({ signal, checkpoint }: EventOf<'signal'>): void {
    const { texts, now } = this.#scope
    const about: Attributes = { [own.category[0]]: signal.reason, [own.checkpoint[0]]: checkpoint }
    const sentence = texts.sentence(signal)
    if (sentence !== undefined) about[own.message[0]] = sentence
    this.#root.event(eventNames.signal[0], about, now())
  }

  #recordIteration(event: EventOf<'lap'>): void {
    const { transition, after, left } = event
    this.#limits.observe(event)
    this.#endTurn(transition)
    if (!this.#isLive) return
    if (this.#root.isRecording) {
      const about: Attributes = { [own.transition[0]]: transition, [own.othersLeft[0]]: after[2] }
      if (left.next_turn !== null) about[own.turnsLeft[0]] = left.next_turn
      this.#root.event(eventNames.lap[0], about, this.#scope.now())
    }
    this.#scope.instruments?.iterations.add(1, this.#attributesOfIteration(transition))
  }

  #attributesOfIteration(transition: IterationReason): Attributes {
    const known = this.#iterationAttributes.get(transition)
    if (known !== undefined) return known
    const about = { [own.transition[0]]: transition, ...this.#about }
    this.#iterationAttributes.set(transition, about)
    return about
  }

  #agent({ callId, agentType, description, inBackground, event }: EventOf<'agent'>): void {
    if (event.type === 'run_start') {
      const parent = this.#calls.nodeOf(callId) ?? this.#turn ?? this.#root
      const place: RunPlace = {
        parent,
        agentName: agentType,
        // A model wrote it, like the tool's input.
        description: this.#scope.texts.wants.toolInputs ? description : undefined,
        isBackground: inBackground === true,
        depth: event.run.depth,
        isResumed: !this.#isLive,
      }
      this.#agents.get(callId)?.abandon()
      this.#agents.set(callId, new RunTrace(this.#scope, place, event))
      return
    }
    const call = innermost(event)
    if (call.type === 'tool_end') this.#countCall(call)
    const agent = this.#agents.get(callId)
    if (agent === undefined) return
    agent.observe(event)
    // A live subagent makes its call and the parents of that live, too.
    if (agent.#isLive && !this.#isLive) this.#markLive()
    if (agent.isOver) this.#agents.delete(callId)
  }

  #end({ terminal }: EventOf<'run_end'>): void {
    const { texts, instruments, now } = this.#scope
    // The process that reports the end of a run ended it, except for recorded subagents.
    if (this.#place.depth === 0) this.#markLive()
    if (!this.#isLive) return void (this.isOver = true)
    this.#endTurn()
    const at = now()
    this.close(at)
    const { reason, signal, summary } = terminal
    const sentence = texts.sentence(signal)
    const ending = endingAttributes(terminal, sentence)
    const errorType = errorTypeOf(terminal)
    const about: Attributes = {
      ...ending,
      [own.toolCalls[0]]: this.#toolCalls,
      ...goalAttributes(terminal),
      ...(terminal.verified !== undefined && { [own.verified[0]]: String(terminal.verified) }),
      [genAi.inputTokens]: inputTokensOf(summary.usage),
      [genAi.outputTokens]: summary.usage.output_tokens,
      ...(this.#runId !== undefined && { [own.runId[0]]: exportedName(this.#runId) }),
      // A resumed run has no model at its start.
      ...(this.#place.isResumed && this.#model !== undefined && this.#modelAttributes(this.#model)),
      ...(errorType !== undefined && { [genAi.errorType]: errorType }),
    }
    for (const [name, value] of Object.entries(about)) if (value !== undefined) this.#root.set(name, value)
    this.#root.event(eventNames.ending[0], ending, at)
    if (errorType !== undefined) this.#root.fail(sentence)
    this.#root.end(at)
    this.isOver = true
    if (instruments === undefined) return
    const seconds = this.#root.secondsUntil(at)
    const measured = { [own.reason[0]]: reason, [own.category[0]]: signal.reason, ...this.#about }
    instruments.endings.add(1, measured)
    instruments.runs.record(seconds, measured)
    if (terminal.goal !== undefined)
      instruments.goalTries.record(terminal.goal.tries, {
        [own.goalVerdict[0]]: verdictOf(terminal.goal),
        ...this.#about,
      })
    const provider = this.#model === undefined ? 'unknown' : this.#scope.providerOf(this.#model)
    instruments.run(provider, this.#agentName, seconds, errorType)
    for (const [limit, used] of this.#limits.atEnd(terminal))
      instruments.limits.record(used, { [own.limit[0]]: exportedName(limit), ...this.#about })
  }

  /** Ends all spans without a reported outcome. */
  abandon(at: number = this.#scope.now()): void {
    this.close(at)
    this.#root.abandon(at)
  }

  /** Ends the open spans inside the run. */
  close(at: number = this.#scope.now()): void {
    for (const agent of this.#agents.values()) agent.abandon(at)
    this.#agents.clear()
    this.#attempts.close(at)
    this.#calls.close(at)
    this.#hooks.close(at)
    this.#goals.close(at)
    this.#waits.close(at)
    const open = [this.#compaction, this.#turn]
    this.#compaction = undefined
    this.#turn = undefined
    for (const node of open) node?.abandon(at)
  }
}

/** Returns the innermost event of nested subagents. */
function innermost(event: RunEvent): RunEvent {
  return event.type === 'agent' ? innermost(event.event) : event
}

type HookOf = Pick<EventOf<'hook_start'>, 'hook' | 'trigger' | 'callId'>

/** Spans of the hook calls of one run. If a hook is called several times concurrently, the first call ends first. */
class HookTraces {
  readonly #scope: TraceScope
  readonly #open = new Map<string, TraceNode[]>()

  constructor(scope: TraceScope) {
    this.#scope = scope
  }

  start(about: HookOf, node: TraceNode): void {
    const key = keyOf(about)
    const open = this.#open.get(key)
    if (open === undefined) this.#open.set(key, [node])
    else open.push(node)
  }

  end(event: EventOf<'hook_end'>): void {
    const key = keyOf(event)
    const open = this.#open.get(key)
    const node = open?.shift()
    if (open?.length === 0) this.#open.delete(key)
    if (node?.isBegun !== true) return
    const { outcome, durationMs } = event
    const { texts, now } = this.#scope
    node.set(own.durationMs[0], durationMs)
    if (outcome.error !== undefined) {
      node.set(genAi.errorType, 'hook_failed')
      // A failed command may print its input.
      node.fail(texts.untrusted(outcome.error))
    }
    node.end(now())
  }

  close(at: number): void {
    for (const node of [...this.#open.values()].flat()) node.abandon(at)
    this.#open.clear()
  }
}

function keyOf({ hook, trigger, callId }: HookOf): string {
  return `${hook}\n${trigger}\n${callId ?? ''}`
}
