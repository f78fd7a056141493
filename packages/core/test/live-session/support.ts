// Imports by package names, since tests of the journal use this file as well.
import type { QueryOptions } from '@halting/core'
import { createSession, type Session, type SessionEvent, type SessionParts } from '@halting/core/session'
import { scriptedModel, type ScriptedReply } from '@halting/core/testing'

/** A session over a scripted model that is stored nowhere, and all its events. */
export function sessionOf(
  replies: Parameters<typeof scriptedModel>[0],
  options: Partial<QueryOptions> = {},
  parts: Partial<SessionParts> = {},
): { readonly session: Session; readonly events: SessionEvent[] } {
  const session = createSession({
    options: { model: scriptedModel(replies), ...options },
    journal: undefined,
    answersQuestions: false,
    permissions: { mode: 'default' },
    cwd: '/work',
    end: async () => undefined,
    ...parts,
  })
  const events: SessionEvent[] = []
  session.listen((event) => events.push(event))
  return { session, events }
}

/** A line for each event except loop events, without the content of messages. */
export function eventLines(events: readonly SessionEvent[]): readonly string[] {
  return events.flatMap((event) => {
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
export function eventLinesWithoutMessages(events: readonly SessionEvent[]): readonly string[] {
  return eventLines(events).filter((line) => !line.startsWith('message'))
}

export const looks: ScriptedReply = { toolCalls: [{ name: 'Look', input: {} }] }
