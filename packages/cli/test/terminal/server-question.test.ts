// Holds rules of docs/spec: R-TERM-91.
import type { ElicitationAnswer, ElicitationRequest } from '@halting/agent/mcp'
import type { SessionEvent } from '@halting/core/session'
import { describe, expect, test } from 'vitest'
import { openLiveSession } from '../../src/flags/open-session.ts'
import { openSessionOf } from '../../src/terminal/app/open-session.ts'
import { ServerQuestions } from '../../src/terminal/app/server-questions.ts'
import { serverQuestionView } from '../../src/terminal/view/server-question.ts'
import { call } from '../support/program.ts'
import { askingServer, given } from '../support/servers.ts'
import { answerDelay, key, startApp } from './app-support.ts'
import { plainStyle, renderBlocks } from './view-support.ts'

const waits = new AbortController().signal

async function showQuestion(request: ElicitationRequest) {
  const questions = new ServerQuestions(() => undefined)
  const answers: ElicitationAnswer[] = []
  void questions.ask('crm', request, waits).then((answer) => answers.push(answer))
  const [question] = questions.open
  if (question === undefined) throw new Error('nothing is asked')
  let ms = 0
  const view = serverQuestionView({
    question,
    answered: () => undefined,
    // Each key comes a second after the last.
    now: () => (ms += 1_000),
    changed: () => undefined,
    style: plainStyle,
  })
  return {
    press: async (...data: readonly string[]) => {
      for (const each of data) view.handleInput?.(each)
      await Promise.resolve()
      return answers
    },
    screen: () => renderBlocks([view], 70).split('\n').slice(1),
  }
}

const form = (properties: object, required: readonly string[] = []): ElicitationRequest => ({
  message: 'About you',
  requestedSchema: { type: 'object', properties, required },
})
const name = { name: { type: 'string', title: 'Name', maxLength: 5 } }

describe('a form of a server', () => {
  test('says first who asks and what; Enter accepts nothing', async () => {
    const { screen, press } = await showQuestion(form(name))
    expect(screen()).toEqual(['? The server crm asks: About you', ' y answer · n decline · Esc no answer'])
    expect(await press(key.enter)).toEqual([])
  })

  test.each<readonly [what: string, keys: readonly string[], answer: ElicitationAnswer]>([
    ['n declines', ['n'], { action: 'decline' }],
    ['Esc gives no answer', [key.escape], { action: 'cancel' }],
    ['Esc in the first field goes back', ['y', key.escape, 'n'], { action: 'decline' }],
    ['what is optional may be left empty', ['y', key.enter], { action: 'accept', content: {} }],
    ['a text is taken', ['y', 'A', 'd', 'a', key.enter], { action: 'accept', content: { name: 'Ada' } }],
  ])('%s', async (_what, keys, answer) => {
    const { press } = await showQuestion(form(name))
    expect(await press(...keys)).toEqual([answer])
  })

  test('accepts a value for each kind of field', async () => {
    const { press, screen } = await showQuestion(
      form({
        age: { type: 'integer', minimum: 1, maximum: 150, default: 30 },
        size: { type: 'string', enum: ['s', 'l'], enumNames: ['small', 'large'] },
        sure: { type: 'boolean', description: 'Are you sure?' },
        some: { type: 'array', items: { enum: ['a', 'b', 'c'] }, maxItems: 2 },
      }),
    )
    await press('y', key.enter)
    expect(screen()).toEqual([
      '? The server crm asks: About you',
      '  size',
      '› 1 small',
      '  2 large',
      ' Enter choose · s skip · Esc back',
    ])
    await press('2')
    expect(screen()).toContain('  sure: Are you sure?')
    await press('1')
    const answers = await press('1', '3', key.enter)
    expect(answers).toEqual([{ action: 'accept', content: { age: 30, size: 'l', sure: true, some: ['a', 'c'] } }])
  })

  test.each<readonly [field: object, typed: string, problem: string]>([
    [{ type: 'integer', minimum: 1, maximum: 9 }, '10', 'Give a whole number from 1 to 9.'],
    [{ type: 'number' }, 'x', 'Give a number.'],
    [{ type: 'string', maxLength: 2 }, 'abc', 'Give a text of at most 2 characters.'],
    [{ type: 'string', format: 'email' }, 'abc', 'Give an email address.'],
    [{ type: 'string' }, '', 'An answer is required.'],
  ])('reports an invalid value, and stays open: %j', async (field, typed, problem) => {
    const { press, screen } = await showQuestion(form({ it: field }, ['it']))
    expect(await press('y', ...typed.split(''), key.enter)).toEqual([])
    expect(screen()).toContain(`  ${problem}`)
  })
})

describe('a page of a server', () => {
  const url = `https://auth.example.com/connect?state=${'a'.repeat(80)}`
  const page: ElicitationRequest = { mode: 'url', message: 'Connect\u202E', url, elicitationId: 'e' }

  test('shows the whole address and its host', async () => {
    const { screen } = await showQuestion(page)
    const lines = screen()
    expect(lines.map((line) => line.trim()).join(' ')).toContain('a page at auth.example.com: Connect⟦U+202E⟧')
    expect(lines.map((line) => line.trim()).join('')).toContain(url)
    expect(lines.at(-1)).toBe(' y I will open it · n decline · Esc no answer')
  })

  test.each([
    ['y', 'accept'],
    ['n', 'decline'],
    [key.escape, 'cancel'],
  ])('is answered by a key: %j', async (pressed, action) => {
    expect(await (await showQuestion(page)).press(pressed)).toEqual([{ action }])
  })
})

test('an unsupported form is declined with a note; a withdrawn one is cancelled', async () => {
  const notes: string[] = []
  const questions = new ServerQuestions((text) => void notes.push(text))
  expect(await questions.ask('crm', form({ it: { type: 'object' } }), waits)).toEqual({ action: 'decline' })
  expect(notes).toEqual([expect.stringContaining('The server crm'.replace('The', 'the'))])
  const server = new AbortController()
  const [one, two] = [questions.ask('crm', form(name), server.signal), questions.ask('crm', form(name), waits)]
  expect(questions.open).toHaveLength(2)
  server.abort()
  expect(await one).toEqual({ action: 'cancel' })
  const listeners: ((event: SessionEvent) => void)[] = []
  questions.attach({ listen: (listener) => (listeners.push(listener), () => undefined) })
  for (const listener of listeners) listener({ type: 'closed' })
  expect([await two, questions.open]).toEqual([{ action: 'cancel' }, []])
})

test('a session shows the form and the page of a server, one after the other', async () => {
  const asks = { command: process.execPath, args: [askingServer] }
  const { terminal, say, type, settled } = await startApp({
    replies: [{ content: [call('mcp__asks__two', {})] }, { content: 'Done.' }],
    flags: { mcpConfig: [given({ asks })], allowedTools: ['mcp__asks'] },
    env: { HALTING_MCP_WAIT_MS: '60000' },
    async open(flags, program) {
      const questions = new ServerQuestions(() => undefined)
      const live = await openLiveSession(flags, program, { answersQuestions: true, elicit: questions.ask })
      questions.attach(live.session)
      return openSessionOf(live, undefined, questions)
    },
  })
  say('go')
  const waitForText = (text: string): Promise<void> =>
    expect.poll(() => terminal.all().join('\n'), { timeout: 20_000 }).toContain(text)
  await waitForText('The server asks asks: Your name?')
  await answerDelay()
  type('y')
  await answerDelay()
  type('A', 'd', 'a', key.enter)
  await answerDelay()
  type('2')
  await answerDelay()
  type('s')
  await waitForText('a page at auth.example.com')
  await answerDelay()
  type('n')
  await waitForText('Done.')
  await settled()
})
