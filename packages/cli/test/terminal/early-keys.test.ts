// Holds rules of docs/spec: R-TERM-66, R-TERM-66a, R-TERM-70b.
import { array, assert, asyncProperty, constantFrom, tuple } from 'fast-check'
import type { Question } from '@halting/core/session'
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { createKeyActions } from '../../src/terminal/app/key-actions.ts'
import { createOverlays } from '../../src/terminal/app/overlays.ts'
import { createQuestions, readAnswer } from '../../src/terminal/app/show-questions.ts'
import { keyTable } from '../../src/terminal/keys/key-table.ts'
import { bindingsOf } from '../../src/terminal/keys/keybindings.ts'
import type { Component } from '../../src/terminal/screen/screen-port.ts'
import { limitQuestionView, questionView, serverQuestionView } from '../../src/terminal/view/question-view.ts'
import { plainStyle } from './view-support.ts'

// Whether each key goes to the editor or to a question of the session. The test controls the clock.

beforeEach(() => {
  vi.useFakeTimers()
})
afterEach(() => {
  vi.useRealTimers()
})

const ctrlC = '\u0003'
const enter = '\r'

function bash(id: string): Question {
  return { id, callId: id, toolName: 'Bash', input: { command: `touch ${id}` }, reason: '', suggestions: [] }
}

function model(id: string, count: number): Question {
  const questions = Array.from({ length: count }, (_, at) => ({
    question: `Which ${at}?`,
    header: '',
    options: [{ label: 'A' }, { label: 'B' }],
  }))
  return { id, callId: id, toolName: 'AskUserQuestion', input: { questions }, reason: '', suggestions: [] }
}

function harness(asked: readonly Question[], status = 'running') {
  let questions = [...asked]
  let text = ''
  const log: { readonly what: 'answer' | 'stop' | 'leave' | 'text'; readonly detail: string; readonly at: number }[] =
    []
  const note = (what: 'answer' | 'stop' | 'leave' | 'text', detail = ''): void =>
    void log.push({ what, detail, at: Date.now() })
  const shownSince = new Map<string, number>()
  const given = new Map<string, unknown>()
  let currentStatus = status
  /** Enter sends the text of the editor, and nothing receives it here. */
  const write = (data: string): void => {
    if (data !== enter) text += data
    note('text', data)
  }
  const overlays = createOverlays(() => manager.update())
  const editor = {
    get isEmpty() {
      return text === ''
    },
    take() {
      const taken = text
      text = ''
      return taken
    },
    putBefore(texts: readonly string[]) {
      text = [...texts, text].join('')
    },
    remember: () => undefined,
    hasMenu: false,
  }
  const app = {
    editor,
    history: { add: () => undefined },
    style: plainStyle,
    cwd: '/work',
    screen: { rows: 24 },
    cluster: undefined,
    open: {
      explain: () => ({ parts: [] }),
      session: {
        get snapshot() {
          return { questions, status: currentStatus }
        },
        answer(id: string, answer: unknown) {
          if (!questions.some((each) => each.id === id)) return
          given.set(id, answer)
          note('answer', id)
          questions = questions.filter((each) => each.id !== id)
          manager.update()
        },
      },
    },
    promptSender: {
      interrupt() {
        note('stop')
        questions = []
        currentStatus = 'idle'
        manager.update()
        return true
      },
    },
    overlay: <T>(make: (close: (value: T) => void) => Component) => overlays.open(make),
    changed: () => undefined,
    leave: () => note('leave'),
  }
  const isCovered = (): boolean => overlays.current !== undefined
  const manager = createQuestions({
    // The fake has everything that questions and keys use.
    app: app as never,
    now: () => Date.now(),
    isCovered,
    loadView: () => Promise.resolve({ questionView, limitQuestionView, serverQuestionView }),
    toEditor(data) {
      if (!keys(data)) write(data)
    },
  })
  const keys = createKeyActions({
    app: app as never,
    keys: keyTable(bindingsOf(undefined, '')),
    shell: { isRunning: false } as never,
    submit: () => undefined,
    isCovered,
    isAsked: () => manager.isShown,
    now: () => Date.now(),
    hint: () => undefined,
  })
  return {
    log,
    given,
    shownSince,
    press(...all: readonly string[]) {
      for (const data of all) {
        const before = log.length
        if (manager.take(data) || keys(data)) continue
        if (overlays.current === undefined) {
          write(data)
        } else overlays.current.handleInput?.(data)
        if (log.length === before) note('text', '')
      }
    },
    async pass(ms: number) {
      for (let gone = 0; gone < ms; gone += 10) {
        await vi.advanceTimersByTimeAsync(10)
        overlays.current?.render(80)
        const [first] = questions
        if (manager.isShown && first !== undefined && !shownSince.has(first.id)) shownSince.set(first.id, Date.now())
      }
    },
    look: () => manager.update(),
    get text() {
      return text
    },
    set text(given: string) {
      text = given
    },
    get isAsked() {
      return manager.isShown
    },
    cover: () => overlays.open<undefined>((close) => ({ render: () => [], handleInput: () => close(undefined) })),
    answers: () => log.filter(({ what }) => what === 'answer').map(({ detail }) => detail),
    did: () => log.filter(({ what }) => what === 'stop' || what === 'leave').map(({ what }) => what),
  }
}

async function showQuestions(...asked: readonly Question[]) {
  const run = harness(asked)
  run.look()
  await run.pass(1_000)
  return run
}

describe('a quickly typed answer', () => {
  test.each([
    ['y', 'y'],
    ['y', 'y', 'y', 'y'],
    ['y', enter],
    ['y', 'e', 's', enter],
    ['n', 'o'],
    [enter, enter],
  ])('%j %j … answers one question, and is not text', async (...pressed) => {
    const run = await showQuestions(bash('a'), bash('b'))
    run.press(...pressed)
    await run.pass(2_000)
    expect(run.answers()).toEqual(['a'])
    expect(run.text).toBe('')
    expect(run.isAsked).toBe(true)
  })

  test.each([100, 250, 350, 500, 650])('repeated after %i ms, is not text', async (gap) => {
    const run = await showQuestions(bash('a'), bash('b'))
    run.press('y')
    await run.pass(gap)
    run.press('y')
    await run.pass(2_000)
    expect(run.answers()).toEqual(['a'])
    expect(run.text).toBe('')
  })

  test('does not answer the next question of the model, which nobody has read', async () => {
    const run = await showQuestions(model('a', 3))
    run.press('1', '1', enter)
    expect(run.answers()).toEqual([])
    await run.pass(500)
    run.press('2')
    await run.pass(500)
    run.press('1')
    expect(run.given.get('a')).toMatchObject({ updatedInput: { answers: { 'Which 0?': 'A', 'Which 1?': 'B' } } })
  })
})

describe('text', () => {
  test('that starts like the rest of an answer reaches the editor completely', async () => {
    const run = await showQuestions(bash('a'))
    run.press('y')
    await run.pass(100)
    for (const each of 'east of it') {
      run.press(each)
      await run.pass(80)
    }
    await run.pass(1_000)
    expect(run.answers()).toEqual(['a'])
    expect(run.text).toBe('east of it')
  })

  test('typed while a question opens is kept, and answers nothing', async () => {
    const run = harness([bash('a')])
    run.look()
    await run.pass(320)
    expect(run.isAsked).toBe(true)
    for (const each of 'yesterday') {
      run.press(each)
      await run.pass(90)
    }
    expect(run.text).toBe('yesterday')
    expect(run.answers()).toEqual([])
    await run.pass(1_600)
    expect(run.isAsked).toBe(true)
    run.press('y')
    expect(run.answers()).toEqual(['a'])
    expect(run.text).toBe('yesterday')
  })

  test('written in a question returns to the editor when the question closes', async () => {
    const run = await showQuestions(bash('a'))
    run.press('i')
    for (const each of 'use make') run.press(each)
    run.press(ctrlC)
    await run.pass(50)
    expect(run.text).toBe('use make')
  })
})

test('a question does not open behind a list, where the key that closes the list would answer it', async () => {
  const run = harness([bash('a')])
  void run.cover()
  run.look()
  await run.pass(2_000)
  expect(run.isAsked).toBe(false)
  run.press(enter, enter)
  await run.pass(200)
  expect(run.isAsked).toBe(false)
  await run.pass(500)
  expect(run.isAsked).toBe(true)
  expect(run.answers()).toEqual([])
})

describe('Ctrl+C', () => {
  const plan: Question = { ...bash('a'), toolName: 'ExitPlanMode', input: { plan: 'x' } }
  test.each([
    ['a permission', bash('a')],
    ['a plan', plan],
    ['a question of the model', model('a', 1)],
  ])('stops the run that asks for %s; twice quits', async (_name, asked) => {
    const run = await showQuestions(asked)
    run.press(ctrlC)
    expect(run.did()).toEqual(['stop'])
    expect(run.answers()).toEqual([])
    await run.pass(300)
    run.press(ctrlC)
    expect(run.did()).toEqual(['stop', 'leave'])
  })

  test('quits with a draft, too, and not if the second press is late', async () => {
    const secondRun = await showQuestions(bash('a'))
    secondRun.text = 'draft'
    secondRun.press(ctrlC, ctrlC)
    expect(secondRun.did()).toEqual(['stop', 'leave'])
    const slow = await showQuestions(bash('a'))
    slow.press(ctrlC)
    await slow.pass(1_500)
    slow.press(ctrlC)
    expect(slow.did()).not.toContain('leave')
  })

  test('closes a list, and quits with the next press while idle', async () => {
    const run = harness([], 'idle')
    void run.cover()
    run.press(ctrlC)
    expect(run.did()).toEqual([])
    run.press(ctrlC)
    expect(run.did()).toEqual(['leave'])
  })

  test('closes a list during a run, and stops the run with the next press', async () => {
    const run = harness([])
    void run.cover()
    run.press(ctrlC, ctrlC)
    expect(run.did()).toEqual(['stop'])
  })

  test('works while a message is written in the question', async () => {
    const run = await showQuestions(bash('a'))
    run.press('i', 'x', ctrlC)
    expect(run.did()).toEqual(['stop'])
  })
})

test('no unseen question is answered, and every key is an answer, a part of one, or text', async () => {
  const keys = constantFrom('y', 'n', 'e', 's', 'o', 'x', ' ', enter)
  const gaps = constantFrom(0, 40, 120, 290, 310, 390, 410, 700, 1_100)
  await assert(
    asyncProperty(array(tuple(keys, gaps), { maxLength: 14 }), async (pressed) => {
      const run = harness([bash('a'), bash('b'), bash('c')])
      run.look()
      await run.pass(350)
      for (const [data, gap] of pressed) {
        run.press(data)
        await run.pass(gap)
      }
      await run.pass(1_000)
      const seenMs = run.log.flatMap(({ what, detail, at }) =>
        what === 'answer' ? [at - (run.shownSince.get(detail) ?? Infinity)] : [],
      )
      expect(seenMs.filter((ms) => ms < 380)).toEqual([])
      const typed = run.log.flatMap(({ what, detail }) => (what === 'text' ? [detail] : []))
      const editorTexts = typed.filter((each) => each !== '')
      expect(
        isInOrder(
          editorTexts,
          pressed.map(([data]) => data),
        ),
      ).toBe(true)
      // Whatever cannot be part of an answer reached the editor, or a question that the person had read.
      const countKeys = (all: readonly string[]): number => all.filter((each) => each === 'x' || each === ' ').length
      const inQuestions = typed.length - editorTexts.length
      expect(countKeys(editorTexts) + inQuestions).toBeGreaterThanOrEqual(countKeys(pressed.map(([data]) => data)))
    }),
    { numRuns: 60 },
  )
})

test.each([
  ['y', 'complete'],
  ['yyy', 'complete'],
  ['y\r', 'complete'],
  ['ye', 'partial'],
  ['yes\r\r', 'complete'],
  ['ye\r', 'text'],
  ['y\ry', 'text'],
  ['yo', 'text'],
  ['al', 'partial'],
  ['\r\r', 'complete'],
])('%j is %s', (typed, expected) => {
  expect(readAnswer(typed)).toBe(expected)
})

function isInOrder(some: readonly string[], all: readonly string[]): boolean {
  let from = 0
  return some.every((each) => {
    from = all.indexOf(each, from) + 1
    return from > 0
  })
}
