import { streamRun } from '../api/iterate.ts'
import { isToolResult, type ModelMessage } from '../model/messages.ts'
import type { ModelRequest } from '../model/model.ts'
import type { RunOptions } from '../api/options.ts'
import { resumeOn } from '../api/resume.ts'
import { startRun } from '../api/start.ts'
import { DurableStepEngine, type AnswerableStepEngine, type StepEngineOptions } from '../steps/durable-step-engine.ts'
import type { StepStore, StepRecord } from '../steps/step-record.ts'
import { systemClock } from '../values/system-clock.ts'
import type { RunResult } from '../endings/run-result.ts'
import type { AnyTool } from '../tools/tool.ts'
import type { Transcript } from '../conversation/transcript.ts'
import { transcriptProblems } from '../conversation/transcript-problems.ts'
import { scriptedModel, type ScriptedReply } from './scripted-model.ts'

/** A session, as a process that opens it finds it. */
export interface CheckedSession {
  /** The conversation of the ended runs. */
  readonly transcript: Transcript
  /** The records of the run that did not end, for `resume`. */
  readonly open: readonly StepRecord[] | undefined
  /** Where new records are stored. */
  readonly log: StepStore
  /** Creates the step engine over a log. Default: `DurableStepEngine`. It must record everything in the log of its options, which is monitored. */
  readonly drive?: (options: StepEngineOptions) => AnswerableStepEngine
  /** Closes the session; all appended records are durable then. */
  close(): Promise<void>
  /** Kills the process: appended but unflushed records may be lost. Nothing else is called on this session. */
  kill(): Promise<void>
  /**
   * For a store that may take a session from a process by itself: resolves when this process has lost the session. From
   * then on, actions of the process have no effect, as if it had been killed. Nothing else is called on this session.
   */
  readonly lost?: Promise<void>
}

/** The world outside all processes of a session, which survives them. */
export interface Outside {
  /** Ids of the calls that took effect, once for each time. */
  readonly effects: string[]
  /** Turns for which the model was asked, in order. */
  readonly asked: number[]
  readonly problems: string[]
}

export const nothingOutside = (): Outside => ({ effects: [], asked: [], problems: [] })

class ProcessKilled extends Error {}

const forever = <T>(): Promise<T> => new Promise<T>(() => {})
/** Longer than a result that services display, and than a record that engines may want to store. */
const oversized = 'oversized '.repeat(250_000)

export interface ProcessOptions {
  /** Kills the process after this many appended records; absent: never. */
  readonly killAfter?: number
  /** The transcript with which an open run is continued, instead of the session's. */
  readonly before?: Transcript
  /** Aborts the run when this call takes effect. */
  readonly abortAt?: string
  /** A person sends this message when the call takes effect. */
  readonly steerAt?: { readonly callId: string; readonly text: string }
  /** A person is asked before `Pay`, and gives these answers in order. */
  readonly answers?: readonly ('allow' | 'deny')[]
  /** Whether the answers arrive before or during the wait. */
  readonly answersCome?: 'early' | 'late'
  readonly script?: readonly ScriptedReply[]
}

/** How a process ended. */
export interface Ended {
  readonly terminal: RunResult
  readonly messages: readonly ModelMessage[]
  /** The result of each call for the model, as JSON. */
  readonly results: ReadonlyMap<string, string>
}

/** One process with a session: it starts a run or continues the open one, and may be killed at any record. */
export class DriverProcess {
  /** All appended records, in order, as JSON. */
  readonly appended: StepRecord[] = []
  /** How many of the appended records were flushed. */
  flushed = 0
  readonly #session: CheckedSession
  readonly #outside: Outside
  readonly #options: ProcessOptions
  readonly #abort = new AbortController()
  #isDead = false
  #isLost = false
  #die: () => void = () => {}
  readonly #dead = new Promise<undefined>((resolve) => {
    this.#die = () => resolve(undefined)
  })
  readonly #lost: Promise<undefined> | undefined
  #answer: AnswerableStepEngine['answer'] = () => {}
  #steer: (text: string) => void = () => {}

  constructor(session: CheckedSession, outside: Outside, options: ProcessOptions = {}) {
    this.#session = session
    this.#outside = outside
    this.#options = options
    this.#lost = session.lost?.then(() => {
      this.#isDead = true
      this.#isLost = true
      return undefined
    })
  }

  /** Undefined if the process was killed or has lost the session. */
  async run(): Promise<Ended | undefined> {
    const { open, drive = (options: StepEngineOptions) => new DurableStepEngine(options) } = this.#session
    const transcript = this.#options.before ?? this.#session.transcript
    const log = this.#log()
    const options = this.#loopOptions()
    let running
    if (open === undefined) {
      const steps = drive({ log, sessionId: 'session' })
      this.#answer = steps.answer.bind(steps)
      running = streamRun(startRun({ prompt: 'go', sessionId: 'session', transcript }), { ...options, steps })
    } else {
      const resumed = resumeOn(open, options, transcript, ({ past: _past, ...turn }) => drive({ ...turn, log }))
      this.#answer = resumed.steps.answer.bind(resumed.steps)
      running = resumed.loop
      this.#answerWaiting(open)
    }
    this.#steer = (text) => void running.steer(text, 'steered')
    const lost = this.#lost ?? forever<undefined>()
    const ended = await Promise.race([running.ended, this.#dead, lost])
    if (ended === undefined) {
      if (!this.#isLost) await this.#session.kill()
      return undefined
    }
    // The end of the run is recorded.
    await Promise.race([this.#session.close(), lost])
    return endOfRun(ended.terminal, ended.state.transcript.messages(), this.#outside)
  }

  #log(): StepStore {
    const { log } = this.#session
    return {
      keeps: 'all',
      append: (record) => {
        if (!this.#isDead && this.appended.length === this.#options.killAfter) {
          this.#isDead = true
          this.#die()
        }
        if (this.#isDead) throw new ProcessKilled('The process is gone.')
        log.append(record)
        // A record is JSON: this is what a store may return.
        this.appended.push(JSON.parse(JSON.stringify(record)) as StepRecord)
        this.#answerWaiting([record])
      },
      flush: async () => {
        if (this.#isDead) return forever()
        const { length } = this.appended
        try {
          await log.flush()
        } catch (error) {
          // The log may be notified first that its process has lost the session.
          if (this.#lost !== undefined) await new Promise<void>((resolve) => systemClock.after(0, resolve))
          if (!this.#isDead) throw error
        }
        if (this.#isDead) return forever()
        this.flushed = Math.max(this.flushed, length)
      },
    }
  }

  /** A person answers the waiting call with all answers, although only the first counts. */
  #answerWaiting(records: readonly StepRecord[]): void {
    const { answers = [], answersCome } = this.#options
    for (const record of records) {
      if (record.type !== 'intent' || !record.key.includes('/approval:')) continue
      const say = (): void => {
        for (const behavior of answers) this.#answer(record.key, { behavior, message: 'No.' })
      }
      if (answersCome === 'late') systemClock.after(5, say)
      else say()
    }
  }

  #loopOptions(): RunOptions {
    const { answers, script = plainScript } = this.#options
    return {
      model: scriptedModel((request) => this.#reply(script, request), { contextWindow: 50_000_000 }),
      tools: this.#tools(),
      signal: this.#abort.signal,
      onAsk: 'wait',
      ...(answers !== undefined && {
        permissions: {
          denies: () => undefined,
          decide: ({ tool }) => (tool.name === 'Pay' ? { behavior: 'ask', message: 'May I?' } : { behavior: 'allow' }),
        },
      }),
    }
  }

  /** The next reply follows from the conversation, so that any process can continue. */
  #reply(script: readonly ScriptedReply[], { messages }: ModelRequest): ScriptedReply {
    if (this.#isDead) return { hang: true, deaf: true }
    const turn = messages.filter(({ role }) => role === 'assistant').length
    this.#outside.asked.push(turn)
    this.#outside.problems.push(...transcriptProblems(messages).map(String))
    return script[turn] ?? 'done'
  }

  #tools(): readonly AnyTool[] {
    const schema = { type: 'object' } as const
    return [
      {
        name: 'Look',
        description: 'Looks.',
        inputSchema: schema,
        readOnly: true,
        execute: async (_input, { callId }) => {
          // Later calls end first.
          for (let left = 40 - 10 * Number(callId.at(-1)); left > 0; left--) await Promise.resolve()
          return `seen by ${callId}`
        },
      },
      {
        name: 'Big',
        description: 'Gives much.',
        inputSchema: schema,
        readOnly: true,
        execute: () => ({ content: oversized, details: { of: oversized } }),
      },
      {
        name: 'Pay',
        description: 'Does what must not be done twice.',
        inputSchema: schema,
        readOnly: false,
        execute: async (_input, { callId, signal }) => {
          if (this.#isDead) return forever<string>()
          this.#checkIntent(callId)
          this.#outside.effects.push(callId)
          await Promise.resolve()
          if (this.#options.abortAt === callId) this.#abort.abort()
          const { steerAt } = this.#options
          if (steerAt?.callId === callId) this.#steer(steerAt.text)
          if (signal.aborted) throw new Error('It was aborted.')
          return `paid by ${callId}`
        },
      },
    ]
  }

  /** A side effect requires a flushed intent. */
  #checkIntent(callId: string): void {
    const index = this.appended.findIndex(
      ({ type, ...rest }) => type === 'intent' && 'key' in rest && rest.key.endsWith(`:${callId}`),
    )
    const wasThere = this.#session.open?.some((record) => record.type === 'intent' && record.key.endsWith(`:${callId}`))
    if (wasThere !== true && (index < 0 || index >= this.flushed))
      this.#outside.problems.push(`${callId} took effect before its intent was durable.`)
  }
}

/** How a run ended that has these messages. */
export function endOfRun(terminal: RunResult, messages: readonly ModelMessage[], { problems }: Outside): Ended {
  problems.push(...transcriptProblems(messages).map(String))
  const results = new Map<string, string>()
  for (const { content } of messages) {
    if (typeof content === 'string') continue
    for (const block of content) if (isToolResult(block)) results.set(block.tool_use_id, JSON.stringify(block.content))
  }
  return { terminal, messages, results }
}

export const oversizedText: string = oversized

const call = (name: string, id: string): { readonly name: string; readonly id: string } => ({ name, id })
const plainScript: readonly ScriptedReply[] = [
  { text: 'I look.', thinking: 'hm', toolCalls: [call('Look', 'l1'), call('Look', 'l2'), call('Look', 'l3')] },
  { toolCalls: [call('Pay', 'p1'), call('Look', 'l4'), call('Pay', 'p2')] },
  { text: 'Again.', toolCalls: [call('Pay', 'p3')] },
]
