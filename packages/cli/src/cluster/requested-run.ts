import type { LimitRequest } from '@halting/core'
import type { Question, Session, SessionEvent } from '@halting/core/session'
import type { RunSession } from '../headless/run.ts'

export interface RequestedRunOptions {
  /** The message that starts the run; undefined for the next run that ends. */
  readonly messageId: string | undefined
  /** Called once for each permission request. */
  readonly onQuestion: (question: Question) => void
  /** Called when the run pauses at a limit. */
  readonly onLimit: (request: LimitRequest) => void
  readonly onNote: (text: string) => void
}

/**
 * Shows one run of a cluster session as if this process were the only client. O1: results and endings of other runs are
 * not emitted. O2: a failure is emitted only if no run received the message, since another worker retries failed work.
 * O3: later runs are neither emitted nor waited for.
 */
export function requestedRun(session: Session, options: RequestedRunOptions): RunSession {
  const { messageId, onQuestion, onLimit, onNote } = options
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
