import { readFileSync, statSync } from 'node:fs'
import { calledPath } from '@halting/agent'
import type { Question } from '@halting/agent/session'
import { questionView } from '../view/question-view.ts'
import type { AppContext } from './context.ts'

interface Options {
  readonly app: AppContext
  readonly now: () => number
}

/** Puts the questions of a session in the place of the editor, one at a time, when nobody types (spec R-TERM-66). */
export interface Questions {
  /** Something about the questions is another. */
  look(): void
  /** A key was pressed; true: it was not meant for the question, which had only just come, and goes away for the moment. */
  keyPressed(): boolean
}

/** A question comes only when no key was pressed for so long: what is typed is never an answer by accident. */
const quietMs = 300
/** The same where something is written: somebody thinks, and goes on. */
const quietWithDraftMs = 1_000
/** What is pressed so soon after a question came was meant for what stood there before. */
const freshMs = 400

export function createQuestions({ app, now }: Options): Questions {
  let lastKeyAt = -Infinity
  let timer: NodeJS.Timeout | undefined
  let shown: { readonly callId: string; readonly at: number; close: () => void } | undefined
  const waiting = (): readonly Question[] => app.open?.session.snapshot.questions ?? []
  const look = (): void => {
    clearTimeout(timer)
    if (shown !== undefined && !waiting().some(({ callId }) => callId === shown?.callId)) shown.close()
    const [first] = waiting()
    if (shown !== undefined || first === undefined) return
    const wait = lastKeyAt + (app.editor.isEmpty ? quietMs : quietWithDraftMs) - now()
    if (wait > 0) {
      timer = setTimeout(look, wait)
      return
    }
    const own = { callId: first.callId, at: now(), close: (): void => undefined }
    shown = own
    void app
      .overlay<undefined>((close) => {
        own.close = () => close(undefined)
        return questionView({
          question: first,
          waiting,
          // Whatever answers it, the session tells that it is closed.
          answer: (id, answer) => void app.open?.session.answer(id, answer),
          changed: () => app.changed(),
          style: app.style,
          cwd: app.cwd,
          rows: () => app.screen.rows,
          explain: (command) => app.open?.explain(command) ?? { parts: [] },
          // A path of another machine may name another file here.
          fileText: (path) => (app.cluster === undefined ? fileText(calledPath(path, app.cwd)) : undefined),
        })
      })
      .then(() => {
        if (shown === own) shown = undefined
        look()
      })
  }
  return {
    look,
    keyPressed() {
      lastKeyAt = now()
      if (shown === undefined || lastKeyAt - shown.at > freshMs) return false
      shown.close()
      return true
    },
  }
}

const largestBytes = 1_000_000

function fileText(path: string): string | undefined {
  try {
    const stats = statSync(path)
    return stats.isFile() && stats.size <= largestBytes ? readFileSync(path, 'utf8') : undefined
  } catch {
    return undefined
  }
}
