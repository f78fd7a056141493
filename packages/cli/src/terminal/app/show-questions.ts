import { readFileSync, statSync } from 'node:fs'
import { calledPath } from '@halting/policy/files'
import type { LimitRequest } from '@halting/core'
import type { Question } from '@halting/core/session'
import type { LimitQuestionOptions } from '../view/limit-question.ts'
import type { Component } from '../screen/screen-port.ts'
import type { QuestionOptions, QuestionView } from '../view/question-parts.ts'
import type { ServerQuestionOptions } from '../view/server-question.ts'
import type { AppContext, OpenSession } from './context.ts'
import { textOfKey } from '../keys/typed-text.ts'
import { isPressed } from '../view/text-field.ts'

interface Views {
  readonly questionView: (options: QuestionOptions) => QuestionView
  readonly limitQuestionView: (options: LimitQuestionOptions) => QuestionView
  readonly serverQuestionView: (options: ServerQuestionOptions) => QuestionView
}

interface Options {
  readonly app: AppContext
  readonly now: () => number
  /** Something is in the place of the editor, or in front of it. */
  readonly isCovered: () => boolean
  /** What the key does where no question is open. */
  readonly toEditor: (data: string) => void
  /** What shows a question, loaded when the first one opens. */
  readonly loadView: () => Promise<Views>
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
  /** Another session is on the screen. */
  show(open: Pick<OpenSession, 'serverQuestions'>): void
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

interface Shown extends Pick<Asked, 'about'> {
  readonly at: number
  view: QuestionView | undefined
  close: () => void
}

export function createQuestions({ app, now, isCovered, toEditor, loadView }: Options): Questions {
  let lastKeyAt = -Infinity
  let timer: NodeJS.Timeout | undefined
  let shown: Shown | undefined
  let views: Views | undefined
  /** Keys that may belong to an answer, with what was typed in one go so far. */
  let early: { typed: string; readonly keys: string[] } | undefined
  let earlyTimer: NodeJS.Timeout | undefined
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
    const asked = questionsOf(app, now)
    if (shown !== undefined && !asked.some(({ about }) => about === shown?.about)) shown.close()
    const [first] = asked
    if (shown !== undefined || first === undefined || isCovered()) return
    const wait = lastKeyAt + (app.editor.isEmpty ? quietMs : quietWithDraftMs) - now()
    if (wait > 0) {
      timer = setTimeout(look, wait)
      return
    }
    if (views !== undefined) return show(first, views)
    loadView().then(
      (loaded) => {
        views = loaded
        look()
      },
      (thrown: unknown) => app.fail(thrown),
    )
  }

  /** Puts it on the screen until it is closed. */
  function show({ about, view: viewOf }: Asked, loaded: Views): void {
    const own: Shown = { about, at: now(), view: undefined, close: () => undefined }
    let pressed = ''
    shown = own
    const answered = (): void => {
      const typed = answerText(pressed)
      if (typed === undefined) return
      early = { typed, keys: [] }
      hold()
    }
    void app
      .overlay<undefined>((close) => {
        own.close = () => close(undefined)
        const view = viewOf(loaded, answered)
        own.view = view
        return reportingKeys(view, (data) => (pressed = data))
      })
      .then(() => {
        if (shown === own) shown = undefined
        // A message that nobody sent.
        const written = own.view?.unsentText ?? ''
        if (written.trim() !== '') app.editor.putBefore([written])
        look()
      })
  }

  return {
    get isShown() {
      return shown !== undefined
    },
    look,
    show({ serverQuestions }) {
      serverQuestions?.listen(look)
      look()
    },
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

/** The view, with each key reported before it takes it. */
function reportingKeys(view: QuestionView, report: (data: string) => void): Component {
  return {
    render: (width) => view.render(width),
    handleInput(data) {
      report(data)
      view.handleInput?.(data)
    },
  }
}

/** A question that waits, and how it is shown. */
interface Asked {
  /** The call that it is about, or the question at a limit. */
  readonly about: string
  /** `answered`: a key has answered it. */
  readonly view: (views: Views, answered: () => void) => QuestionView
}

/** Those about calls, and then the one at a limit. */
function questionsOf(app: AppContext, now: () => number): readonly Asked[] {
  const waiting = (): readonly Question[] => app.open?.session.snapshot.questions ?? []
  const atLimit = app.open?.session.snapshot.limitQuestion ?? undefined
  const shared = viewOptions(app, now)
  const ofCalls = waiting().map((question): Asked => ({
    about: question.callId,
    view: ({ questionView }, answered) => questionView({ ...shared, question, waiting, ...answersTo(app, answered) }),
  }))
  const { changed, style } = shared
  const ofServers = (app.open?.serverQuestions?.open ?? []).map((question): Asked => ({
    about: question.id,
    view: ({ serverQuestionView }, answered) => serverQuestionView({ question, answered, now, changed, style }),
  }))
  if (atLimit === undefined) return [...ofCalls, ...ofServers]
  const view: Asked['view'] = ({ limitQuestionView }, answered) =>
    limitQuestionView({
      request: atLimit,
      wallTime: Date.now,
      changed,
      style,
      answer: answerAtLimit(app, atLimit, answered),
    })
  return [...ofCalls, ...ofServers, { about: atLimit.id, view }]
}

/** What every question of the session is shown with. */
function viewOptions(app: AppContext, now: () => number): Omit<QuestionOptions, 'question' | 'waiting' | 'answer'> {
  return {
    now,
    changed: () => app.changed(),
    style: app.style,
    cwd: app.cwd,
    rows: () => app.screen.rows,
    explain: (command) => app.open?.explain(command) ?? { parts: [] },
    // A path of another machine may name another file here.
    fileText: (path) => (app.cluster === undefined ? fileText(calledPath(path, app.cwd)) : undefined),
  }
}

/** Whatever answers it, the session tells that it is closed. `answered`: a key has. */
function answersTo(app: AppContext, answered: () => void): Pick<QuestionOptions, 'answer'> {
  return {
    answer(id, answer) {
      answered()
      void app.open?.session.answer(id, answer)
    },
  }
}

/** An answer that is refused leaves the question open. */
function answerAtLimit(app: AppContext, { id }: LimitRequest, answered: () => void): LimitQuestionOptions['answer'] {
  return (answer) => {
    app.open?.session.answerLimit(id, answer)
    answered()
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

/** What a key types as far as answers are concerned: its text, a carriage return for Enter. Undefined for any other key, and for a paste. */
function answerText(data: string): string | undefined {
  if (data === '\n') return undefined
  return isPressed(data, 'enter') ? '\r' : textOfKey(data)
}

/** Words that people type where one letter is the answer. */
const words = ['yes', 'no', 'always', 'all']

/**
 * Whether what was typed in one go is an answer and nothing else: one character, repeated by a key that was held down or pressed twice, or a word such as
 * `yes`; each may be followed by Enter. `partial`: the beginning of such a word.
 */
export function readAnswer(typed: string): 'complete' | 'partial' | 'text' {
  const [, word] = /^([^\r]*)\r*$/.exec(typed) ?? []
  if (word === undefined) return 'text'
  if (word === '' || new Set(word).size === 1 || words.includes(word)) return 'complete'
  return word === typed && words.some((known) => known.startsWith(word)) ? 'partial' : 'text'
}
