import { readFileSync, statSync } from 'node:fs'
import { calledPath } from '@halting/policy/files'
import type { Question } from '@halting/core/session'
import type { QuestionOptions, QuestionView } from '../view/question-parts.ts'
import type { AppContext } from './context.ts'
import { answerText, readAnswer } from './early-keys.ts'

interface Options {
  readonly app: AppContext
  readonly now: () => number
  /** Something is in the place of the editor, or in front of it. */
  readonly isCovered: () => boolean
  /** What the key does where no question is open. */
  readonly toEditor: (data: string) => void
  /** What shows a question, loaded when the first one opens. */
  readonly loadView: () => Promise<{ readonly questionView: (options: QuestionOptions) => QuestionView }>
}

/**
 * Puts the permission requests of a session in the place of the editor, one at a time, when nobody types (spec R-TERM-66):
 *
 * Q1: no key answers a request that was not on the screen for a moment before it was pressed.
 * Q2: no key that belongs to an answer becomes text: a letter pressed twice, the rest of `yes`, the Enter after it (spec R-TERM-66a).
 * Q3: every other key reaches the editor, in order.
 */
export interface Questions {
  /** Whether one is on the screen. */
  readonly isShown: boolean
  /** Something about the questions is another, or nothing covers the editor any more. */
  look(): void
  /** Takes a key that is not for the question on the screen; false: the key is for whatever has the focus. */
  take(data: string): boolean
}

/** A question comes only when no key was pressed for so long: what is typed is never an answer by accident. */
const quietMs = 300
/** The same where something is written: somebody thinks, and goes on. */
const quietWithDraftMs = 1_000
/** What is pressed so soon after a question came was meant for what stood there before. */
const freshMs = 400
/** Keys that follow one another within this time are typed in one go. */
const pauseMs = 400

interface Shown {
  readonly callId: string
  readonly at: number
  view: QuestionView | undefined
  close: () => void
}

export function createQuestions({ app, now, isCovered, toEditor, loadView }: Options): Questions {
  let lastKeyAt = -Infinity
  let timer: NodeJS.Timeout | undefined
  let shown: Shown | undefined
  let questionView: ((options: QuestionOptions) => QuestionView) | undefined
  /** Keys that may belong to an answer, with what was typed in one go so far. */
  let early: { typed: string; readonly keys: string[] } | undefined
  let earlyTimer: NodeJS.Timeout | undefined
  const waiting = (): readonly Question[] => app.open?.session.snapshot.questions ?? []

  const hold = (): void => {
    clearTimeout(earlyTimer)
    earlyTimer = setTimeout(settle, pauseMs)
  }
  const release = (): void => {
    clearTimeout(earlyTimer)
    const keys = early?.keys ?? []
    early = undefined
    keys.forEach(toEditor)
  }
  /** Nothing more follows: what is an answer is dropped, what is not is text. */
  function settle(): void {
    if (early !== undefined && readAnswer(early.typed) === 'complete') early.keys.length = 0
    release()
  }

  const look = (): void => {
    clearTimeout(timer)
    if (shown !== undefined && !waiting().some(({ callId }) => callId === shown?.callId)) shown.close()
    const [first] = waiting()
    if (shown !== undefined || first === undefined || isCovered()) return
    const wait = lastKeyAt + (app.editor.isEmpty ? quietMs : quietWithDraftMs) - now()
    if (wait > 0) {
      timer = setTimeout(look, wait)
      return
    }
    if (questionView !== undefined) return show(first, questionView)
    loadView().then(
      (loaded) => {
        questionView = loaded.questionView
        look()
      },
      (thrown: unknown) => app.fail(thrown),
    )
  }

  function show(question: Question, viewOf: (options: QuestionOptions) => QuestionView): void {
    const own: Shown = { callId: question.callId, at: now(), view: undefined, close: () => undefined }
    let pressed = ''
    shown = own
    void app
      .overlay<undefined>((close) => {
        own.close = () => close(undefined)
        const view = viewOf({
          question,
          waiting,
          answer(id, answer) {
            const typed = answerText(pressed)
            if (typed !== undefined) {
              early = { typed, keys: [] }
              hold()
            }
            // Whatever answers it, the session tells that it is closed.
            void app.open?.session.answer(id, answer)
          },
          now,
          changed: () => app.changed(),
          style: app.style,
          cwd: app.cwd,
          rows: () => app.screen.rows,
          explain: (command) => app.open?.explain(command) ?? { parts: [] },
          // A path of another machine may name another file here.
          fileText: (path) => (app.cluster === undefined ? fileText(calledPath(path, app.cwd)) : undefined),
        })
        own.view = view
        return {
          render: (width) => view.render(width),
          handleInput(data) {
            pressed = data
            view.handleInput?.(data)
          },
        }
      })
      .then(() => {
        if (shown === own) shown = undefined
        // A message that nobody sent.
        const written = own.view?.written ?? ''
        if (written.trim() !== '') app.editor.putBefore([written])
        look()
      })
  }

  return {
    get isShown() {
      return shown !== undefined
    },
    look,
    take(data) {
      lastKeyAt = now()
      const typed = answerText(data)
      if (early !== undefined && typed !== undefined) {
        early.typed += typed
        early.keys.push(data)
        if (readAnswer(early.typed) !== 'text') hold()
        else {
          shown?.close()
          release()
        }
        return true
      }
      settle()
      if (shown === undefined || now() - shown.at > freshMs) return false
      const isAnswer = typed === '\r' || shown.view?.isAnswerKey(data) === true
      if (typed !== undefined && isAnswer && app.editor.isEmpty) {
        early = { typed, keys: [data] }
        hold()
        return true
      }
      shown.close()
      toEditor(data)
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
