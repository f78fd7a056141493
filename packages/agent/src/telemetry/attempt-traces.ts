import type { Attributes } from '@opentelemetry/api'
import type { LoopEvent, Usage } from '@halting/core'
import { inputTokensOf } from './metrics.ts'
import { conventionAttributes as told, ownAttributes as own } from './names.ts'
import { TraceNode } from './node.ts'
import type { TraceScope } from './scope.ts'

type EventOf<Type extends LoopEvent['type']> = Extract<LoopEvent, { readonly type: Type }>
type AssistantEntry = Extract<EventOf<'message'>['entry'], { readonly kind: 'assistant' }>

interface OpenAttempt {
  readonly node: TraceNode
  readonly about: Attributes
  firstChunkAt: number | undefined
}

/** The attempts at model requests of one run, and its questions. A span ends when its reply is there, at the time at which the attempt ended. */
export class AttemptTraces {
  readonly #scope: TraceScope
  readonly #isLive: () => boolean
  readonly #questions = new Map<string, OpenAttempt>()
  #open: OpenAttempt | undefined
  /** Its figures are told; its message, or why it failed, comes next. */
  #ended: { readonly attempt: OpenAttempt; readonly at: number; readonly isFailed: boolean } | undefined

  constructor(scope: TraceScope, isLive: () => boolean) {
    this.#scope = scope
    this.#isLive = isLive
  }

  start({ request, attempt, model }: EventOf<'model_start'>, parent: TraceNode): void {
    this.flush()
    this.#open?.node.abandon(this.#scope.now())
    this.#open = this.#attempt(model, { [own.request[0]]: request, [own.attempt[0]]: attempt }, parent)
    if (this.#isLive()) this.#open.node.begin()
  }

  /** The attempt that is made now is made by this process. True where there is one. */
  running(): boolean {
    this.#open?.node.begin()
    return this.#open !== undefined
  }

  update({ update }: EventOf<'model_update'>): void {
    const open = this.#open
    if (open === undefined || open.firstChunkAt !== undefined || update.type === 'api_event') return
    open.firstChunkAt = this.#scope.now()
  }

  end({ outcome, usage, costUsd, durationMs }: EventOf<'model_end'>): void {
    const attempt = this.#open
    this.#open = undefined
    if (attempt === undefined) return
    // It was lost with its process, which told nothing of its end.
    if (outcome === 'unknown') attempt.node.begin()
    if (!attempt.node.isBegun) return
    this.flush()
    this.#figures(attempt, { outcome, usage, costUsd })
    attempt.node.set({ [own.durationMs[0]]: durationMs })
    this.#ended = { attempt, at: this.#scope.now(), isFailed: outcome !== 'answered' }
  }

  questionStart({ name, attempt, model }: EventOf<'question_start'>, parent: TraceNode): void {
    const open = this.#attempt(model, { [own.question[0]]: name, [own.attempt[0]]: attempt }, parent)
    open.node.begin()
    const key = `${name}.${attempt}`
    this.#questions.get(key)?.node.abandon(this.#scope.now())
    this.#questions.set(key, open)
  }

  questionEnd({ name, attempt, outcome, usage, costUsd }: EventOf<'question_end'>): void {
    const key = `${name}.${attempt}`
    const open = this.#questions.get(key)
    if (open === undefined) return
    this.#questions.delete(key)
    const at = this.#scope.now()
    this.#figures(open, { outcome, usage, costUsd })
    this.#finish(open, at, outcome === 'answered' ? undefined : outcome)
  }

  /** Why the last one failed. */
  failed({ kind, message }: EventOf<'retry'>['error']): void {
    this.#fails(kind, this.#scope.texts.text(message))
  }

  /** What the last one answered, or our message of how it failed. */
  reply({ message, error }: AssistantEntry): void {
    if (error !== undefined && this.#ended?.isFailed === true) return this.#fails(error)
    const { id, model, stop_reason: stopReason, content } = message
    const { texts } = this.#scope
    this.#ended?.attempt.node.set({
      [told.responseId]: id,
      [told.responseModel]: model,
      ...(stopReason !== null && { [told.finishReasons]: [stopReason] }),
      ...(texts.wants.replies && { [told.outputMessages]: texts.message('assistant', content, stopReason) }),
    })
    this.flush()
  }

  /** Nothing more comes of the attempt that has ended. */
  flush(): void {
    const ended = this.#ended
    this.#ended = undefined
    if (ended !== undefined) this.#finish(ended.attempt, ended.at, ended.isFailed ? 'failed' : undefined)
  }

  close(at: number): void {
    this.flush()
    for (const open of [...this.#questions.values(), this.#open]) {
      open?.node.abandon(at)
    }
    this.#questions.clear()
    this.#open = undefined
  }

  #fails(kind: string, message?: string): void {
    const ended = this.#ended
    this.#ended = undefined
    if (ended !== undefined) this.#finish(ended.attempt, ended.at, kind, message)
  }

  #attempt(model: string, own_: Attributes, parent: TraceNode): OpenAttempt {
    const { api, tracing, providerOf, now } = this.#scope
    const about = { [told.operation]: 'chat', [told.provider]: providerOf(model), [told.requestModel]: model }
    const init = { name: `chat ${model}`, kind: api.SpanKind.CLIENT, attributes: { ...about, ...own_ } }
    return { node: new TraceNode(tracing, parent, init, now()), about, firstChunkAt: undefined }
  }

  #figures(
    { node, about, firstChunkAt }: OpenAttempt,
    { outcome, usage, costUsd }: { readonly outcome: string; readonly usage: Usage | null; readonly costUsd: number },
  ): void {
    node.set({
      [own.outcome[0]]: outcome,
      [own.costUsd[0]]: costUsd,
      ...(usage !== null && {
        [told.inputTokens]: inputTokensOf(usage),
        [told.outputTokens]: usage.output_tokens,
        [told.cacheRead]: usage.cache_read_input_tokens,
        [told.cacheCreation]: usage.cache_creation_input_tokens,
      }),
      ...(firstChunkAt !== undefined && { [told.firstChunk]: (firstChunkAt - node.startedAt) / 1000 }),
    })
    this.#scope.instruments?.attempt(about, usage, costUsd)
  }

  #finish({ node, about }: OpenAttempt, at: number, errorType: string | undefined, message?: string): void {
    if (errorType !== undefined) {
      node.set({ [told.errorType]: errorType })
      node.fail(message)
    }
    node.end(at)
    const failed = errorType === undefined ? {} : { [told.errorType]: errorType }
    this.#scope.instruments?.operation((at - node.startedAt) / 1000, { ...about, ...failed })
  }
}
