// By the names of the packages: tests of the journal use this file as well.
import type { QueryOptions } from '@halting/core'
import { createSession, type Session, type SessionEvent, type SessionParts } from '@halting/core/session'
import { scriptedModel, type ScriptedReply } from '@halting/core/testing'

/** A session over a scripted model, that is kept nowhere, and all that it tells. */
export function sessionOf(
  replies: Parameters<typeof scriptedModel>[0],
  options: Partial<QueryOptions> = {},
  parts: Partial<SessionParts> = {},
): { readonly session: Session; readonly told: SessionEvent[] } {
  const session = createSession({
    options: { model: scriptedModel(replies), ...options },
    journal: undefined,
    answersQuestions: false,
    permissions: { mode: 'default' },
    cwd: '/work',
    end: async () => undefined,
    ...parts,
  })
  const told: SessionEvent[] = []
  session.listen((event) => told.push(event))
  return { session, told }
}

/** A line for each event but for those of the loop, and without the content of messages. */
export function shown(told: readonly SessionEvent[]): readonly string[] {
  return told.flatMap((event) => {
    switch (event.type) {
      case 'message':
        return [`message ${event.message.type}`]
      case 'run_start':
        return [`run_start ${event.runId} ${event.ids.join()}`]
      case 'run_end':
        return [`run_end ${event.terminal.reason}`]
      case 'taken':
        return [`taken ${event.ids.join()} ${event.turn}`]
      case 'question':
        return [`question ${event.question.toolName}`]
      case 'question_closed':
        return [`question_closed ${event.because}`]
      case 'loop':
      case 'changed':
        return []
      default:
        return [event.type]
    }
  })
}

/** The same without messages. */
export function course(told: readonly SessionEvent[]): readonly string[] {
  return shown(told).filter((line) => !line.startsWith('message'))
}

export const looks: ScriptedReply = { toolCalls: [{ name: 'Look', input: {} }] }
