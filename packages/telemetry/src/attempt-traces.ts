import type { Attributes } from '@opentelemetry/api'
import type { RunEvent, Usage } from '@halting/core'
import { exportedName } from './content.ts'
import { inputTokensOf } from './metrics.ts'
import { conventionAttributes as genAi, ownAttributes as own } from './names.ts'
import { TraceNode } from './node.ts'
import type { TraceScope } from './scope.ts'

type EventOf<Type extends RunEvent['type']> = Extract<RunEvent, { readonly type: Type }>
type AssistantEntry = Extract<EventOf<'message'>['entry'], { readonly kind: 'assistant' }>

type Outcome = EventOf<'model_end'>['outcome']

/** A requested model with its attributes. */
interface AskedModel {
  readonly name: string
  readonly provider: string
  readonly spanName: string
}

interface OpenAttempt {
  readonly node: TraceNode
  readonly model: AskedModel
  firstChunkAt: number | undefined
}

interface AttemptError {
  readonly kind: string
  readonly message: string | undefined
}

/** Aborted attempts, and those forbidden by a limit, are not failures. */
const failures: ReadonlySet<Outcome> = new Set<Outcome>(['failed', 'unknown'])

/**
 * Spans of the attempts of one run at model requests, and of its questions. A span ends when its reply is known, with
 * the time at which the attempt ended.
 */
export class AttemptTraces {
  readonly #scope: TraceScope
  readonly #conversation: string | undefined
  readonly #isLive: () => boolean
  readonly #models = new Map<string, AskedModel>()
  readonly #questions = new Map<string, OpenAttempt>()
  #open: OpenAttempt | undefined
  /** An ended attempt with its figures; its message or its error follows. */
  #ended: { readonly attempt: OpenAttempt; readonly at: number; readonly outcome: Outcome } | undefined

  constructor(scope: TraceScope, conversation: string | undefined, isLive: () => boolean) {
    this.#scope = scope
    this.#conversation = conversation
    this.#isLive = isLive
  }

  start({ request, attempt, model }: EventOf<'model_start'>, parent: TraceNode): void {
    this.flush()
    this.#open?.node.abandon(this.#scope.now())
    this.#open = this.#attempt(model, attempt, parent, own.request[0], request)
    if (this.#isLive()) this.#open.node.begin()
  }

  /** Reports that this process makes the current attempt. Returns true if there is one. */
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
    // It was lost with its process, which reported no end.
    if (outcome === 'unknown') attempt.node.begin()
    if (!attempt.node.isBegun) return
    this.flush()
    this.#figures(attempt, outcome, usage, costUsd)
    attempt.node.set(own.durationMs[0], durationMs)
    this.#ended = { attempt, at: this.#scope.now(), outcome }
  }

  questionStart({ name, attempt, model }: EventOf<'question_start'>, parent: TraceNode): void {
    const open = this.#attempt(model, attempt, parent, own.question[0], exportedName(name))
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
    this.#figures(open, outcome, usage, costUsd)
    this.#finish(open, at, outcome)
  }

  /** Reports why the last attempt failed. */
  failed({ kind, message }: EventOf<'retry'>['error']): void {
    this.#fails(kind, message)
  }

  /** Adds the reply of the last attempt, or our message about its failure. */
  reply({ message, error }: AssistantEntry): void {
    const ended = this.#ended
    if (error !== undefined && ended?.outcome === 'failed') return this.#fails(error)
    if (ended?.attempt.node.isRecording === true) {
      const { node } = ended.attempt
      const { id, model, stop_reason: stopReason, content } = message
      const { texts } = this.#scope
      node.set(genAi.responseId, exportedName(id))
      node.set(genAi.responseModel, exportedName(model))
      if (stopReason !== null) node.set(genAi.finishReasons, [exportedName(stopReason)])
      if (texts.wants.replies) node.set(genAi.outputMessages, texts.messages('assistant', [content], stopReason))
    }
    this.flush()
  }

  /** Ends the span of the last attempt: nothing more follows. */
  flush(): void {
    const ended = this.#ended
    this.#ended = undefined
    if (ended !== undefined) this.#finish(ended.attempt, ended.at, ended.outcome)
  }

  close(at: number): void {
    this.flush()
    for (const open of [...this.#questions.values(), this.#open]) {
      open?.node.abandon(at)
    }
    this.#questions.clear()
    this.#open = undefined
  }

  /** Ends the span of a failed attempt. */
  #fails(kind: string, message?: string): void {
    const ended = this.#ended
    this.#ended = undefined
    if (ended !== undefined) this.#finish(ended.attempt, ended.at, ended.outcome, { kind, message })
  }

  #attempt(id: string, attempt: number, parent: TraceNode, of: string, which: string | number): OpenAttempt {
    const { api, tracing, now } = this.#scope
    const model = this.#asked(id)
    const attributes: Attributes = {
      [genAi.operation]: 'chat',
      [genAi.provider]: model.provider,
      [genAi.requestModel]: model.name,
      [own.attempt[0]]: attempt,
    }
    attributes[of] = which
    if (this.#conversation !== undefined) attributes[genAi.conversation] = this.#conversation
    const options = { kind: api.SpanKind.CLIENT, attributes, startTime: now() }
    return { node: new TraceNode(tracing, parent, model.spanName, options), model, firstChunkAt: undefined }
  }

  #asked(id: string): AskedModel {
    const known = this.#models.get(id)
    if (known !== undefined) return known
    const name = exportedName(id)
    const modelNames = { name, provider: this.#scope.providerOf(id), spanName: `chat ${name}` }
    this.#models.set(id, modelNames)
    return modelNames
  }

  #figures({ node, model, firstChunkAt }: OpenAttempt, outcome: string, usage: Usage | null, costUsd: number): void {
    node.set(own.outcome[0], outcome)
    node.set(own.costUsd[0], costUsd)
    if (usage !== null) {
      node.set(genAi.inputTokens, inputTokensOf(usage))
      node.set(genAi.outputTokens, usage.output_tokens)
      node.set(genAi.cacheRead, usage.cache_read_input_tokens)
      node.set(genAi.cacheCreation, usage.cache_creation_input_tokens)
    }
    if (firstChunkAt !== undefined) node.set(genAi.firstChunk, node.secondsUntil(firstChunkAt))
    this.#scope.instruments?.usage(model.name, model.provider, usage, costUsd)
  }

  #finish({ node, model }: OpenAttempt, at: number, outcome: Outcome, error?: AttemptError): void {
    const errorType = outcome === 'answered' ? undefined : (error?.kind ?? outcome)
    if (errorType !== undefined) node.set(genAi.errorType, errorType)
    if (failures.has(outcome)) {
      const message = error?.message
      node.fail(message === undefined ? undefined : this.#scope.texts.text(message))
    }
    node.end(at)
    this.#scope.instruments?.attempt(model.name, model.provider, node.secondsUntil(at), errorType)
  }
}
