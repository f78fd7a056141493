import type { Question, SessionEvent } from '@halting/core/session'
import type { LimitRequest, JsonObject } from '@halting/core'
import { isJsonObject } from '@halting/core/adapters'
import type { OpenQuestion } from '../service/status.ts'
import type { ClusterClient } from './client.ts'

interface OpenPermissionQuestion {
  /** As it was told here. */
  readonly question: Question
  /** What the worker calls it that asks now. */
  id: string
}

/**
 * The questions of the run that goes on, as a client tells them.
 * A1: a question about a call is told once, also where the next worker asks again, or where it was asked before anybody listened. A2: it keeps the id under which it was
 * told, and is closed once.
 */
export class PermissionQuestions {
  readonly #emit: (event: SessionEvent) => void
  /** By call. */
  readonly #openByCall = new Map<string, OpenPermissionQuestion>()
  /** About which this client has said something. A worker that takes the run up asks again, and is answered by the cluster. */
  readonly #answered = new Set<string>()

  constructor(emit: (event: SessionEvent) => void) {
    this.#emit = emit
  }

  /** Those that wait for an answer, as they were told. */
  visible(fromWorker: readonly Question[]): readonly Question[] {
    return fromWorker.flatMap((question) => {
      const { callId } = question
      return this.#answered.has(callId) ? [] : [this.#openByCall.get(callId)?.question ?? question]
    })
  }

  /** From an event, or from a snapshot. */
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

  /** The run is over: nobody waits for an answer any more. */
  end(): void {
    for (const { id } of this.#openByCall.values()) this.close(id, 'withdrawn')
    this.#answered.clear()
  }
}

/**
 * The question at a limit of the run that goes on, as a client tells it: once, also where the next worker asks it again, and closed once. Its id is that of
 * its step, which is the same for every worker.
 */
export class LimitQuestions {
  readonly #emit: (event: SessionEvent) => void
  #open: LimitRequest | null = null
  /** Those that are closed here. A worker that takes the run up asks again, and is answered by the cluster. */
  readonly #closed = new Set<string>()

  constructor(emit: (event: SessionEvent) => void) {
    this.#emit = emit
  }

  /** The one that waits for an answer. `told`: what a worker shows. */
  visible(fromWorker: LimitRequest | null): LimitRequest | null {
    return this.#open ?? (fromWorker === null || this.#closed.has(fromWorker.id) ? null : fromWorker)
  }

  /** From an event, a snapshot, or the records. */
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

  /** The run is over: nobody waits for an answer any more, and another run may ask by the same name. */
  end(): void {
    this.close('withdrawn')
    this.#closed.clear()
  }
}

/** A call is made by the reply before it: that is in one of so many records. */
const maxRecordsSearched = 100

/** Questions that are on record, for who does not hear of them from a worker: what is asked about is in the reply that makes the call. */
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

/** The newest call of this id, wherever it stands in a record. */
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
