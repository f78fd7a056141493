import { isToolUse, noUsage, textOf, toolCallsOf } from '@halting/core/adapters'
import type { ContentBlock, MessageContent, Usage } from '@halting/core'
import type { ForeignEnding, ForeignPayment, ForeignResult, ForeignRun, ForeignMessage } from './foreign-run.ts'

/** A part of a reply: programs write its blocks one by one. */
export interface ReplyPart {
  /** The same for all parts of one reply. */
  readonly key: string
  readonly model: string
  readonly askedModel?: string | undefined
  readonly blocks: readonly ContentBlock[]
  readonly stopReason: string | null
  readonly usage: Usage | undefined
}

interface OpenTurn {
  readonly key: string
  readonly blocks: ContentBlock[]
  readonly results: ForeignResult[]
  /** Calls that have a result. */
  readonly answered: Set<string>
  readonly run: OpenRun
  readonly agentRequests: ForeignPayment[]
  readonly laterMessages: ForeignMessage[]
  readonly model: string
  readonly askedModel: string | undefined
  readonly beganMs: number
  endedMs: number
  stopReason: string | null
  usage: Usage | undefined
}

interface OpenRun {
  readonly prompts: ForeignMessage[]
  readonly turns: OpenTurn[]
  /** The ending that the record states: interrupted, refused or done. */
  ending: ForeignEnding | undefined
  began: number | undefined
  /** Time during which the run waited for a person. */
  idleMs: number
  nowMs: number
}

/** Tools of Claude Code and Codex that ask a person. */
const askingTools: ReadonlySet<string> = new Set(['AskUserQuestion', 'ExitPlanMode', 'request_user_input'])
/** Claude Code's result of a call that a person denied. */
const refusedByPerson =
  /^(?:The user doesn't want to (?:proceed with this tool use|take this action right now)|User rejected tool use)/

/** Whether a person gave the result, so that the time before it was spent waiting for them and not for a tool. */
function isPersonsAnswer(turn: OpenTurn, callId: string, content: MessageContent): boolean {
  const call = turn.blocks.find((block) => isToolUse(block) && block.id === callId)
  if (call !== undefined && isToolUse(call) && askingTools.has(call.name)) return true
  return refusedByPerson.test(textOf(content))
}

/** Builds runs from recorded events, in their order. A prompt begins a run; prompts without a reply become part of the next one. */
export class RunsBuilder {
  /** Name of the program, for the explanation of an inferred ending. */
  readonly #name: string
  #runs: OpenRun[] = []
  /** The turn of each call. Ids may be reused: the newest call wins. */
  readonly #callers = new Map<string, OpenTurn>()
  /** Requests of subagents before the first turn. */
  #agentRequests: ForeignPayment[] = []
  strayResults = 0

  constructor(name: string) {
    this.#name = name
  }

  /** Adds a prompt of a person, or of a program in their place. */
  prompt(content: MessageContent, at: number | undefined, how: 'next' | 'same_run' = 'next'): void {
    if (content.length === 0) return
    const current = this.#runs.at(-1)
    if (current !== undefined && how === 'same_run' && current.turns.length > 0) {
      this.#addMessage(current, { origin: 'steer', content }, at)
      return
    }
    const isNew = current === undefined || current.turns.length > 0 || current.ending !== undefined
    const run = isNew ? this.#begin() : current
    this.#advanceClock(run, at)
    run.prompts.push({ origin: 'prompt', content })
  }

  /** Begins a run if the current one has turns or an ending. */
  begins(at: number | undefined): void {
    const current = this.#runs.at(-1)
    const run =
      current === undefined || current.turns.length > 0 || current.ending !== undefined ? this.#begin() : current
    this.#advanceClock(run, at)
  }

  /** Adds a message that the program sent to the model. */
  note(content: MessageContent, origin: ForeignMessage['origin'], at: number | undefined): void {
    if (content.length === 0) return
    const run = this.#runs.at(-1) ?? this.#begin()
    this.#addMessage(run, { origin, content }, at)
  }

  #addMessage(run: OpenRun, message: ForeignMessage, at: number | undefined): void {
    this.#advanceClock(run, at)
    const last = run.turns.at(-1)
    if (last === undefined) run.prompts.push(message)
    else last.laterMessages.push(message)
  }

  reply({ key, model, askedModel, blocks, stopReason, usage }: ReplyPart, at: number | undefined): void {
    const run = this.#runs.at(-1) ?? this.#begin()
    // Removes the ending: the run continued after what looked like an ending.
    run.ending = undefined
    let turn = run.turns.at(-1)
    const beganMs = run.nowMs
    const nowMs = this.#advanceClock(run, at)
    if (turn?.key !== key) {
      turn = {
        key,
        model,
        askedModel,
        beganMs,
        endedMs: nowMs,
        stopReason: null,
        usage: undefined,
        blocks: [],
        results: [],
        answered: new Set(),
        run,
        agentRequests: this.#agentRequests,
        laterMessages: [],
      }
      this.#agentRequests = []
      run.turns.push(turn)
    }
    // The rest of a reply may be written after the result of its first call.
    if (turn.results.length === 0) turn.endedMs = nowMs
    turn.stopReason = stopReason ?? turn.stopReason
    turn.usage = usage ?? turn.usage
    for (const block of blocks) this.#block(turn, block)
  }

  #block(turn: OpenTurn, block: ContentBlock): void {
    if (isToolUse(block)) {
      if (this.#callers.get(block.id) === turn) return
      this.#callers.set(block.id, turn)
    }
    turn.blocks.push(block)
  }

  /** Sets the usage of the newest reply, for programs that record it separately. */
  figures(usage: Usage): void {
    const turn = this.#runs.at(-1)?.turns.at(-1)
    if (turn !== undefined) turn.usage = usage
  }

  hasFigures(): boolean {
    return this.#runs.at(-1)?.turns.at(-1)?.usage !== undefined
  }

  /** The key of the current reply; undefined once one of its calls has a result. */
  openReply(): string | undefined {
    const turn = this.#runs.at(-1)?.turns.at(-1)
    return turn === undefined || turn.results.length > 0 || turn.laterMessages.length > 0 ? undefined : turn.key
  }

  result(callId: string, content: MessageContent, isError: boolean, at: number | undefined): void {
    const run = this.#runs.at(-1)
    const turn = this.#callers.get(callId)
    if (run === undefined || turn === undefined || turn.answered.has(callId)) {
      this.strayResults++
      return
    }
    if (turn.run === run && isPersonsAnswer(turn, callId, content)) this.#addIdleTime(run, at)
    const endedMs = this.#advanceClock(run, at)
    // A turn of an earlier run has another clock.
    turn.answered.add(callId)
    turn.results.push({ callId, content, isError, endedMs: turn.run === run ? endedMs : turn.endedMs })
  }

  // Spec R-FOR-11.
  /** Counts the time since the last event as time spent waiting for a person. */
  #addIdleTime(run: OpenRun, at: number | undefined): void {
    if (at === undefined || run.began === undefined) return
    run.idleMs += Math.max(0, at - run.began - run.idleMs - run.nowMs)
  }

  /** Adds a request of a subagent. */
  agentRequest(payment: Omit<ForeignPayment, 'endedMs'>): void {
    const run = this.#runs.at(-1)
    const turn = run?.turns.at(-1)
    if (run === undefined || turn === undefined) this.#agentRequests.push({ ...payment, endedMs: run?.nowMs ?? 0 })
    else turn.agentRequests.push({ ...payment, endedMs: Math.max(run.nowMs, turn.endedMs) })
  }

  ends(ending: ForeignEnding, at?: number): void {
    const run = this.#runs.at(-1)
    if (run === undefined) return
    this.#advanceClock(run, at)
    run.ending = ending
  }

  /** Removes the last runs. */
  drop(count: number): void {
    if (count > 0) this.#runs = this.#runs.slice(0, -count)
  }

  /** Discards all runs: the model no longer sees them. */
  forget(): void {
    this.#runs = []
  }

  get withoutFigures(): number {
    return this.#runs.reduce((sum, { turns }) => sum + turns.filter(({ usage }) => usage === undefined).length, 0)
  }

  /** All runs, without those that made no request. */
  done(sessionId: string): readonly ForeignRun[] {
    return this.#runs
      .filter(({ turns, ending }) => turns.length > 0 || (ending !== undefined && ending.reason !== 'completed'))
      .map((run, index) => ({
        run: { sessionId, runId: `run${index + 1}`, agentPath: '', depth: 0 },
        ...(run.began !== undefined && { beganAt: run.began }),
        prompts: run.prompts,
        turns: run.turns.map((turn) => ({
          message: {
            role: 'assistant',
            id: turn.key,
            model: turn.model,
            content: turn.blocks,
            stop_reason: turn.stopReason,
            usage: turn.usage ?? noUsage,
          },
          ...(turn.askedModel !== undefined && { askedModel: turn.askedModel }),
          beganMs: turn.beganMs,
          endedMs: turn.endedMs,
          results: turn.results,
          agentRequests: turn.agentRequests,
          laterMessages: turn.laterMessages,
        })),
        ending: run.ending ?? this.#inferred(run) ?? null,
      }))
  }

  /** Infers an ending: a last reply without calls is an answer, and a run whose last reply has calls was cut off. */
  #inferred({ turns }: OpenRun): ForeignEnding | undefined {
    const last = turns.at(-1)
    if (last === undefined || toolCallsOf({ content: last.blocks }).length > 0) return undefined
    const by = `inferred: ${this.#name} records no reason`
    if (last.stopReason === 'refusal') return { reason: 'refusal', message: `the model refused (${by})` }
    if (last.stopReason === 'max_tokens')
      return { reason: 'max_output_tokens', message: `the reply reached its maximum length (${by})` }
    if (!last.blocks.some(({ type }) => type === 'text')) return undefined
    return { reason: 'completed', message: `the model answered without calling a tool (${by})` }
  }

  #begin(): OpenRun {
    const run: OpenRun = { prompts: [], turns: [], ending: undefined, began: undefined, idleMs: 0, nowMs: 0 }
    this.#runs.push(run)
    return run
  }

  /** The run's clock, which never goes back. */
  #advanceClock(run: OpenRun, at: number | undefined): number {
    if (at !== undefined) {
      run.began ??= at
      run.nowMs = Math.max(run.nowMs, at - run.began - run.idleMs)
    }
    return run.nowMs
  }
}
