import type { LimitRequest } from '@halting/core'
import type { Question, Session, SessionEvent } from '@halting/core/session'
import type { RunSession } from '../headless/run.ts'

export interface RequestedRunOptions {
  /** The message that the run takes; undefined where the next run to end is meant. */
  readonly messageId: string | undefined
  /** A person has to say something to a call. Told once for each. */
  readonly onQuestion: (question: Question) => void
  /** The run pauses at a limit. */
  readonly onLimit: (request: LimitRequest) => void
  readonly onNote: (text: string) => void
}

/**
 * One run of a session of a cluster, as one that this process alone has asked for. Others may ask the same session for something.
 * O1: results and endings of other runs are not told. O2: a failure is told only where no run took what was asked: what came to nothing in a worker is tried again by
 * another one. O3: nothing is told of runs that begin afterwards, and they are not waited for.
 */
export function requestedRun(
  session: Session,
  { messageId, onQuestion, onLimit, onNote }: RequestedRunOptions,
): RunSession {
  const reported = new Set<string>()
  const listeners = new Set<(event: SessionEvent) => void>()
  let isTaken = messageId === undefined
  let isOver = false
  let isDetached = false
  let failed: Extract<SessionEvent, { readonly type: 'failed' }> | undefined
  let detach = (): void => {}
  const detached = new Promise<void>((resolve) => (detach = resolve))
  const emit = (event: SessionEvent): void => {
    for (const listener of listeners) listener(event)
  }
  const onEvent = (event: SessionEvent): void => {
    switch (event.type) {
      case 'run_start':
        if (isOver) {
          isDetached = true
          return detach()
        }
        isTaken ||= messageId !== undefined && event.ids.includes(messageId)
        return emit(event)
      case 'taken':
        isTaken ||= messageId !== undefined && event.ids.includes(messageId)
        return emit(event)
      case 'message':
        if (isTaken || event.message.type !== 'result') emit(event)
        return
      case 'run_end':
        if (!isTaken) return
        isOver = true
        return emit(event)
      case 'failed':
        if (event.isAfterRun === true) return emit(event)
        failed = event
        return
      case 'note':
        return onNote(event.text)
      case 'question':
      case 'changed':
        for (const question of session.snapshot.questions) {
          if (!reported.has(question.callId)) onQuestion(question)
          reported.add(question.callId)
        }
        return emit(event)
      case 'limit_question':
        onLimit(event.request)
        return emit(event)
      case 'loop':
      case 'question_closed':
      case 'limit_question_closed':
      case 'closed':
        emit(event)
    }
  }
  session.listen((event) => {
    if (!isDetached) onEvent(event)
  })
  return {
    listen(listener) {
      listeners.add(listener)
      return () => void listeners.delete(listener)
    },
    interrupt: (options) => session.interrupt(options),
    async settled() {
      await Promise.race([session.settled(), detached])
      if (!isOver && failed !== undefined) emit(failed)
    },
  }
}
