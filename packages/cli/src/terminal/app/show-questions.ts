import { readFileSync, statSync } from 'node:fs'
import { resolveToolPath } from '@halting/policy/files'
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
  /** Whether another component covers or replaces the editor. */
  readonly isCovered: () => boolean
  /** Handles a key while no question is open. */
  readonly toEditor: (data: string) => void
  /** Loads the views of questions when the first one opens. */
  readonly loadView: () => Promise<Views>
}

/**
 * Shows permission requests in place of the editor, one at a time, while nobody is typing (spec R-TERM-66):
 *
 * Q1: a key answers a request only if the request was visible for a moment before.
 * Q2: keys that belong to an answer never become text: a repeated letter, the rest of `yes`, a following Enter (spec R-TERM-66a).
 * Q3: every other key reaches the editor, in order.
 */
export interface Questions {
  /** Whether a question is on the screen. */
  readonly isShown: boolean
  /** Call this when the questions change, or when nothing covers the editor any more. */
  update(): void
  /** Called when another session is shown. */
  show(open: Pick<OpenSession, 'serverQuestions'>): void
  /** Handles keys that are not for the visible question; false: the key goes to whatever has the focus. */
  take(data: string): boolean
}

/** A question opens only after this long without a key, so that typing never answers it by accident. */
const quietMs = 300
/** Like `quietMs`, while the editor has text, because the person may continue it. */
const quietWithDraftMs = 1_000
/** A key press this soon after a question opened was meant for the previous screen content. */
const freshMs = 400
/** Keys within this time of each other count as one input. */
const pauseMs = 400

interface Shown extends Pick<Asked, 'about'> {
  readonly at: number
  view: QuestionView | undefined
  close: () => void
}

export function createQuestions(options: Options): Questions {
  return new QuestionOverlay(options)
}

class QuestionOverlay implements Questions {
  readonly #app: Options['app']
  readonly #now: Options['now']
  readonly #isCovered: Options['isCovered']
  readonly #toEditor: Options['toEditor']
  readonly #loadView: Options['loadView']
  #lastKeyAt = -Infinity
  #timer: NodeJS.Timeout | undefined
  #shown: Shown | undefined
  #views: Views | undefined
  /** Keys that may belong to an answer, and what they typed so far. */
  #early: { typed: string; readonly keys: string[] } | undefined
  #earlyTimer: NodeJS.Timeout | undefined

  constructor({ app, now, isCovered, toEditor, loadView }: Options) {
    this.#app = app
    this.#now = now
    this.#isCovered = isCovered
    this.#toEditor = toEditor
    this.#loadView = loadView
  }

  get isShown(): Questions['isShown'] {
    return this.#shown !== undefined
  }

  show({ serverQuestions }: Pick<OpenSession, 'serverQuestions'>): void {
    serverQuestions?.listen(() => this.update())
    this.update()
  }

  take(data: string): boolean {
    this.#lastKeyAt = this.#now()
    const typed = answerText(data)
    if (this.#early !== undefined && typed !== undefined) {
      this.#early.typed += typed
      this.#early.keys.push(data)
      if (readAnswer(this.#early.typed) !== 'text') this.#waitForMoreKeys()
      else {
        this.#shown?.close()
        this.#releaseKeys()
      }
      return true
    }
    this.#settleEarlyKeys()
    if (this.#shown === undefined || this.#now() - this.#shown.at > freshMs) return false
    const isAnswer = typed === '\r' || this.#shown.view?.isAnswerKey(data) === true
    if (typed !== undefined && isAnswer && this.#app.editor.isEmpty) {
      this.#early = { typed, keys: [data] }
      this.#waitForMoreKeys()
      return true
    }
    this.#shown.close()
    this.#toEditor(data)
    return true
  }

  #waitForMoreKeys(): void {
    clearTimeout(this.#earlyTimer)
    this.#earlyTimer = setTimeout(() => this.#settleEarlyKeys(), pauseMs)
  }

  #releaseKeys(): void {
    clearTimeout(this.#earlyTimer)
    const keys = this.#early?.keys ?? []
    this.#early = undefined
    keys.forEach(this.#toEditor)
  }

  /** Called when no more keys follow: an answer is discarded, any other input becomes text. */
  #settleEarlyKeys(): void {
    if (this.#early !== undefined && readAnswer(this.#early.typed) === 'complete') this.#early.keys.length = 0
    this.#releaseKeys()
  }

  update(): void {
    clearTimeout(this.#timer)
    const questions = questionsOf(this.#app, this.#now)
    if (this.#shown !== undefined && !questions.some(({ about }) => about === this.#shown?.about)) this.#shown.close()
    const [first] = questions
    if (this.#shown !== undefined || first === undefined || this.#isCovered()) return
    const wait = this.#lastKeyAt + (this.#app.editor.isEmpty ? quietMs : quietWithDraftMs) - this.#now()
    if (wait > 0) {
      this.#timer = setTimeout(() => this.update(), wait)
      return
    }
    if (this.#views !== undefined) return this.#show(first, this.#views)
    this.#loadView().then(
      (loaded) => {
        this.#views = loaded
        this.update()
      },
      (thrown: unknown) => this.#app.fail(thrown),
    )
  }

  /** Shows the question until it is closed. */
  #show({ about, view: viewOf }: Asked, loaded: Views): void {
    const own: Shown = { about, at: this.#now(), view: undefined, close: () => undefined }
    let pressed = ''
    this.#shown = own
    const answered = (): void => {
      const typed = answerText(pressed)
      if (typed === undefined) return
      this.#early = { typed, keys: [] }
      this.#waitForMoreKeys()
    }
    void this.#app
      .overlay<undefined>((close) => {
        own.close = () => close(undefined)
        const view = viewOf(loaded, answered)
        own.view = view
        return reportingKeys(view, (data) => (pressed = data))
      })
      .then(() => {
        if (this.#shown === own) this.#shown = undefined
        // An unsent message in the question returns to the editor.
        const unsent = own.view?.unsentText ?? ''
        if (unsent.trim() !== '') this.#app.editor.putBefore([unsent])
        this.update()
      })
  }
}

/** The view, reporting each key before it handles it. */
function reportingKeys(view: QuestionView, report: (data: string) => void): Component {
  return {
    render: (width) => view.render(width),
    handleInput(data) {
      report(data)
      view.handleInput?.(data)
    },
  }
}

/** An open question, and how to show it. */
interface Asked {
  /** The id of the call, or of the question at a limit. */
  readonly about: string
  /** `answered`: called when a key answers it. */
  readonly view: (views: Views, answered: () => void) => QuestionView
}

/** Questions about calls, then of servers, then the one at a limit. */
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

/** Options common to all permission requests. */
function viewOptions(app: AppContext, now: () => number): Omit<QuestionOptions, 'question' | 'waiting' | 'answer'> {
  return {
    now,
    changed: () => app.changed(),
    style: app.style,
    cwd: app.cwd,
    rows: () => app.screen.rows,
    explain: (command) => app.open?.explain(command) ?? { parts: [] },
    // A path on another machine may name a different file here.
    fileText: (path) => (app.cluster === undefined ? fileText(resolveToolPath(path, app.cwd)) : undefined),
  }
}

/** The answer function. The session reports that the question is closed. `answered`: called when a key answers it. */
function answersTo(app: AppContext, answered: () => void): Pick<QuestionOptions, 'answer'> {
  return {
    answer(id, answer) {
      answered()
      void app.open?.session.answer(id, answer)
    },
  }
}

/** Answers the question at a limit. A rejected answer leaves the question open. */
function answerAtLimit(app: AppContext, { id }: LimitRequest, answered: () => void): LimitQuestionOptions['answer'] {
  return (answer) => {
    app.open?.session.answerLimit(id, answer)
    answered()
  }
}

const maxBytes = 1_000_000

function fileText(path: string): string | undefined {
  try {
    const stats = statSync(path)
    return stats.isFile() && stats.size <= maxBytes ? readFileSync(path, 'utf8') : undefined
  } catch {
    return undefined
  }
}

/** The text that a key adds to an answer; a carriage return for Enter. Undefined for other keys and pastes. */
function answerText(data: string): string | undefined {
  if (data === '\n') return undefined
  return isPressed(data, 'enter') ? '\r' : textOfKey(data)
}

/** Words that people type where a letter is enough. */
const words = ['yes', 'no', 'always', 'all']

/**
 * Whether one input is an answer and nothing else: one repeated character, or a word such as `yes`,
 * each optionally followed by Enter. `partial`: the beginning of such a word.
 */
export function readAnswer(typed: string): 'complete' | 'partial' | 'text' {
  const [, word] = /^([^\r]*)\r*$/.exec(typed) ?? []
  if (word === undefined) return 'text'
  if (word === '' || new Set(word).size === 1 || words.includes(word)) return 'complete'
  return word === typed && words.some((known) => known.startsWith(word)) ? 'partial' : 'text'
}
