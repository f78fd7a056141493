import type { Question, SessionEvent } from '@halting/core/session'
import type { LimitRequest, JsonObject } from '@halting/core'
import { isJsonObject } from '@halting/core/adapters'
import type { OpenQuestion } from '../service/status.ts'
import type { ClusterClient } from './client.ts'

interface OpenPermissionQuestion {
  /** The question as this client emitted it. */
  readonly question: Question
  /** Id of the question at the worker that currently asks it. */
  id: string
}

/**
 * Permission requests of the current run, as a client emits them.
 * A1: a request for a call is emitted once, also if the next worker asks again, or if it was asked before anyone listened.
 * A2: it keeps the id under which it was emitted, and is closed once.
 */
export class PermissionQuestions {
  readonly #emit: (event: SessionEvent) => void
  /** By call. */
  readonly #openByCall = new Map<string, OpenPermissionQuestion>()
  /** Calls that this client has answered. A worker that takes over the run asks again, and the cluster answers it. */
  readonly #answered = new Set<string>()

  constructor(emit: (event: SessionEvent) => void) {
    this.#emit = emit
  }

  /** The open questions, as they were emitted. */
  visible(fromWorker: readonly Question[]): readonly Question[] {
    return fromWorker.flatMap((question) => {
      const { callId } = question
      return this.#answered.has(callId) ? [] : [this.#openByCall.get(callId)?.question ?? question]
    })
  }

  /** Adds a question from an event or a snapshot. */
  ask(question: Question): void {
    const { callId, id } = question
    const known = this.#openByCall.get(callId)
    if (known !== undefined) known.id = id
    if (known !== undefined || this.#answered.has(callId)) return
    this.#openByCall.set(callId, { question, id })
    this.#emit({ type: 'question', question })
  }

  answer(callId: string): void {
    this.#answered.add(callId)
  }

  close(id: string, because: 'answered' | 'withdrawn'): void {
    for (const [callId, asked] of this.#openByCall) {
      if (asked.id !== id) continue
      this.#openByCall.delete(callId)
      this.#answered.add(callId)
      this.#emit({ type: 'question_closed', id: asked.question.id, because })
    }
  }

  /** Called when the run is over, so that no question is open any more. */
  end(): void {
    for (const { id } of this.#openByCall.values()) this.close(id, 'withdrawn')
    this.#answered.clear()
  }
}

/**
 * The question at a limit of the current run, as a client emits it: once, also if the next worker asks again, and closed once. Its id is that of its step, which is the same on
 * every worker.
 */
export class LimitQuestions {
  readonly #emit: (event: SessionEvent) => void
  #open: LimitRequest | null = null
  /** Questions that were closed here. A worker that takes over the run asks again, and the cluster answers it. */
  readonly #closed = new Set<string>()

  constructor(emit: (event: SessionEvent) => void) {
    this.#emit = emit
  }

  /** The open question. `fromWorker`: the question in the worker's snapshot. */
  visible(fromWorker: LimitRequest | null): LimitRequest | null {
    return this.#open ?? (fromWorker === null || this.#closed.has(fromWorker.id) ? null : fromWorker)
  }

  /** Adds a question from an event, a snapshot or the records. */
  ask(request: LimitRequest): void {
    if (this.#closed.has(request.id) || this.#open?.id === request.id) return
    this.close('withdrawn')
    this.#open = request
    this.#emit({ type: 'limit_question', request })
  }

  close(because: 'answered' | 'withdrawn'): void {
    const open = this.#open
    if (open === null) return
    this.#open = null
    this.#closed.add(open.id)
    this.#emit({ type: 'limit_question_closed', id: open.id, because })
  }

  /** Called when the run is over: the question is withdrawn, and another run may reuse its id. */
  end(): void {
    this.close('withdrawn')
    this.#closed.clear()
  }
}

/** Maximum number of records that are searched for the reply that makes a call. */
const maxRecordsSearched = 100

/** Permission requests on record, for clients that cannot read them from a worker. The reply that makes the call says what each is about. */
export async function recordedQuestions(
  client: Pick<ClusterClient, 'records'>,
  sessionId: string,
  { questions, records: count }: { readonly questions: readonly OpenQuestion[]; readonly records: number },
): Promise<readonly Question[]> {
  const records = await client.records(sessionId, Math.max(0, count - maxRecordsSearched))
  return questions.map(({ callId, key }) => {
    const call = findCall(records, callId)
    const input = call?.['input']
    return {
      id: key,
      callId,
      toolName: typeof call?.['name'] === 'string' ? call['name'] : '',
      input: isJsonObject(input) ? input : {},
      reason: '',
      suggestions: [],
    }
  })
}

/** The newest call with this id, at any depth in a record. */
function findCall(value: unknown, callId: string): JsonObject | undefined {
  if (Array.isArray(value)) {
    for (const part of (value as readonly unknown[]).toReversed()) {
      const found = findCall(part, callId)
      if (found !== undefined) return found
    }
    return undefined
  }
  if (!isJsonObject(value)) return undefined
  return value['type'] === 'tool_use' && value['id'] === callId ? value : findCall(Object.values(value), callId)
}
