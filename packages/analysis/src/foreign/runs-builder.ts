import { isToolUse, noUsage, textOf, toolCallsOf } from '@halting/core/adapters'
import type { ContentBlock, MessageContent, Usage } from '@halting/core'
import type { ForeignEnding, ForeignPayment, ForeignResult, ForeignRun, ForeignSaid } from './foreign-run.ts'

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
  /** Calls that have one. */
  readonly answered: Set<string>
  readonly run: OpenRun
  readonly beside: ForeignPayment[]
  readonly said: ForeignSaid[]
  readonly model: string
  readonly askedModel: string | undefined
  readonly beganMs: number
  endedMs: number
  stopReason: string | null
  usage: Usage | undefined
}

interface OpenRun {
  readonly prompts: ForeignSaid[]
  readonly turns: OpenTurn[]
  /** Said by the record itself: interrupted, refused, done. */
  ending: ForeignEnding | undefined
  began: number | undefined
  /** While a person answered: nobody worked. */
  idleMs: number
  nowMs: number
}

/** Tools that ask a person: of Claude Code and of Codex. */
const askingTools: ReadonlySet<string> = new Set(['AskUserQuestion', 'ExitPlanMode', 'request_user_input'])
/** What Claude Code says of a call that a person did not allow. */
const refusedByPerson =
  /^(?:The user doesn't want to (?:proceed with this tool use|take this action right now)|User rejected tool use)/

/** Whether the result came from a person, so that they were waited for, and no tool was. */
function isAnswerOfPerson(turn: OpenTurn, callId: string, content: MessageContent): boolean {
  const call = turn.blocks.find((block) => isToolUse(block) && block.id === callId)
  if (call !== undefined && isToolUse(call) && askingTools.has(call.name)) return true
  return refusedByPerson.test(textOf(content))
}

/** Makes runs of what a program wrote down, in its order. A prompt begins a run; prompts without any reply are part of the next one. */
export class RunsBuilder {
  /** How the ending of a run is inferred from its last reply. */
  readonly #name: string
  #runs: OpenRun[] = []
  /** The turn that made a call. Programs and services use ids again: the newest one is meant. */
  readonly #callers = new Map<string, OpenTurn>()
  /** What subagents were asked before anything else was. */
  #beside: ForeignPayment[] = []
  strayResults = 0

  constructor(name: string) {
    this.#name = name
  }

  /** A prompt of a person, or what a program puts in place of one. */
  prompt(content: MessageContent, at: number | undefined, how: 'next' | 'same_run' = 'next'): void {
    if (content.length === 0) return
    const current = this.#runs.at(-1)
    if (current !== undefined && how === 'same_run' && current.turns.length > 0) {
      this.#sayIn(current, { origin: 'steer', content }, at)
      return
    }
    const isNew = current === undefined || current.turns.length > 0 || current.ending !== undefined
    const run = isNew ? this.#begin() : current
    this.#moment(run, at)
    run.prompts.push({ origin: 'prompt', content })
  }

  /** Begins a run where the record says so. */
  begins(at: number | undefined): void {
    const current = this.#runs.at(-1)
    const run =
      current === undefined || current.turns.length > 0 || current.ending !== undefined ? this.#begin() : current
    this.#moment(run, at)
  }

  /** What the program told the model. */
  note(content: MessageContent, origin: ForeignSaid['origin'], at: number | undefined): void {
    if (content.length === 0) return
    const run = this.#runs.at(-1) ?? this.#begin()
    this.#sayIn(run, { origin, content }, at)
  }

  #sayIn(run: OpenRun, said: ForeignSaid, at: number | undefined): void {
    this.#moment(run, at)
    const last = run.turns.at(-1)
    if (last === undefined) run.prompts.push(said)
    else last.said.push(said)
  }

  reply({ key, model, askedModel, blocks, stopReason, usage }: ReplyPart, at: number | undefined): void {
    const run = this.#runs.at(-1) ?? this.#begin()
    // It went on all the same.
    run.ending = undefined
    let turn = run.turns.at(-1)
    const beganMs = run.nowMs
    const nowMs = this.#moment(run, at)
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
        beside: this.#beside,
        said: [],
      }
      this.#beside = []
      run.turns.push(turn)
    }
    // The rest of a reply may be written after the first of its calls has its result.
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

  /** Figures of the newest reply that come in a record of their own. */
  figures(usage: Usage): void {
    const turn = this.#runs.at(-1)?.turns.at(-1)
    if (turn !== undefined) turn.usage = usage
  }

  hasFigures(): boolean {
    return this.#runs.at(-1)?.turns.at(-1)?.usage !== undefined
  }

  /** The key of the reply that goes on; undefined once one of its calls has a result. */
  openReply(): string | undefined {
    const turn = this.#runs.at(-1)?.turns.at(-1)
    return turn === undefined || turn.results.length > 0 || turn.said.length > 0 ? undefined : turn.key
  }

  result(callId: string, content: MessageContent, isError: boolean, at: number | undefined): void {
    const run = this.#runs.at(-1)
    const turn = this.#callers.get(callId)
    if (run === undefined || turn === undefined || turn.answered.has(callId)) {
      this.strayResults++
      return
    }
    if (turn.run === run && isAnswerOfPerson(turn, callId, content)) this.#stoodStill(run, at)
    const endedMs = this.#moment(run, at)
    // Of a run before: its clock is another one.
    turn.answered.add(callId)
    turn.results.push({ callId, content, isError, endedMs: turn.run === run ? endedMs : turn.endedMs })
  }

  // Spec R-FOR-11.
  /** What passed since the last moment was the time of a person, which is no tool's. */
  #stoodStill(run: OpenRun, at: number | undefined): void {
    if (at === undefined || run.began === undefined) return
    run.idleMs += Math.max(0, at - run.began - run.idleMs - run.nowMs)
  }

  /** A request of a subagent. */
  beside(payment: Omit<ForeignPayment, 'endedMs'>): void {
    const run = this.#runs.at(-1)
    const turn = run?.turns.at(-1)
    if (run === undefined || turn === undefined) this.#beside.push({ ...payment, endedMs: run?.nowMs ?? 0 })
    else turn.beside.push({ ...payment, endedMs: Math.max(run.nowMs, turn.endedMs) })
  }

  ends(ending: ForeignEnding, at?: number): void {
    const run = this.#runs.at(-1)
    if (run === undefined) return
    this.#moment(run, at)
    run.ending = ending
  }

  /** Takes back the last runs. */
  drop(count: number): void {
    if (count > 0) this.#runs = this.#runs.slice(0, -count)
  }

  /** What was said before is no longer shown to the model. */
  forget(): void {
    this.#runs = []
  }

  get withoutFigures(): number {
    return this.#runs.reduce((sum, { turns }) => sum + turns.filter(({ usage }) => usage === undefined).length, 0)
  }

  /** What is known of all runs; those that asked no model are none. */
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
          beside: turn.beside,
          said: turn.said,
        })),
        ending: run.ending ?? this.#inferred(run) ?? null,
      }))
  }

  /** A reply that asks for nothing is an answer; a run whose last reply asks for something was cut. */
  #inferred({ turns }: OpenRun): ForeignEnding | undefined {
    const last = turns.at(-1)
    if (last === undefined || toolCallsOf({ content: last.blocks }).length > 0) return undefined
    const by = `inferred: ${this.#name} records no reason`
    if (last.stopReason === 'refusal') return { reason: 'refusal', message: `the model refused (${by})` }
    if (last.stopReason === 'max_tokens')
      return { reason: 'max_output_tokens', message: `the reply reached its longest length (${by})` }
    if (!last.blocks.some(({ type }) => type === 'text')) return undefined
    return { reason: 'completed', message: `the model answered and asked for no tool (${by})` }
  }

  #begin(): OpenRun {
    const run: OpenRun = { prompts: [], turns: [], ending: undefined, began: undefined, idleMs: 0, nowMs: 0 }
    this.#runs.push(run)
    return run
  }

  /** The run's own clock, which never goes back. */
  #moment(run: OpenRun, at: number | undefined): number {
    if (at !== undefined) {
      run.began ??= at
      run.nowMs = Math.max(run.nowMs, at - run.began - run.idleMs)
    }
    return run.nowMs
  }
}
