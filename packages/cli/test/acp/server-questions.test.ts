// Holds rules of docs/spec: R-ACP-16: questions of servers as forms of an editor.
import type { AgentContext, ClientCapabilities } from '@agentclientprotocol/sdk'
import { describe, expect, test } from 'vitest'
import type { ElicitationRequest } from '@halting/agent/mcp'
import type { Session, SessionEvent } from '@halting/core/session'
import { readForm, formContentProblem } from '../../src/frontends/elicitation-form.ts'
import { ServerQuestions } from '../../src/acp/server-questions.ts'
import { fits } from '../support/acp-schema.ts'

const form = (properties: object, required?: unknown): object => ({ type: 'object', properties, required })

describe('a form', () => {
  test('contains only those properties of each field that the protocol supports', () => {
    const sampleForm = readForm(
      form(
        {
          name: { type: 'string', title: 'Name', minLength: 1, maxLength: 9, default: 'Ada', secret: 'x' },
          mail: { type: 'string', format: 'email', description: 'Where\u202E to' },
          odd: { type: 'string', format: 'odd', title: 7 },
          size: { type: 'string', enum: ['s', 'l'], enumNames: ['small', 'large'], default: 's' },
          colour: { type: 'string', oneOf: [{ const: 'r', title: 'Red' }] },
          age: { type: 'integer', minimum: 0, maximum: 'many' },
          rate: { type: 'number', default: 0.5 },
          sure: { type: 'boolean', default: true },
          some: { type: 'array', items: { type: 'string', enum: ['a', 'b'] }, maxItems: 1, default: ['a'] },
          more: { type: 'array', items: { anyOf: [{ const: 'c', title: 'See' }] } },
        },
        ['name'],
      ),
    )
    expect(sampleForm).toEqual({
      type: 'object',
      required: ['name'],
      properties: {
        name: { type: 'string', title: 'Name', minLength: 1, maxLength: 9, default: 'Ada' },
        mail: { type: 'string', format: 'email', description: 'Where⟦U+202E⟧ to' },
        odd: { type: 'string' },
        size: {
          type: 'string',
          oneOf: [
            { const: 's', title: 'small' },
            { const: 'l', title: 'large' },
          ],
          default: 's',
        },
        colour: { type: 'string', oneOf: [{ const: 'r', title: 'Red' }] },
        age: { type: 'integer', minimum: 0 },
        rate: { type: 'number', default: 0.5 },
        sure: { type: 'boolean', default: true },
        some: {
          type: 'array',
          items: {
            anyOf: [
              { const: 'a', title: 'a' },
              { const: 'b', title: 'b' },
            ],
          },
          maxItems: 1,
          default: ['a'],
        },
        more: { type: 'array', items: { anyOf: [{ const: 'c', title: 'See' }] } },
      },
    })
    const asked = { mode: 'form', sessionId: 's', message: 'm', requestedSchema: sampleForm }
    expect(fits('CreateElicitationRequest', asked)).toBeUndefined()
  })

  test.each<readonly [what: string, requested: unknown]>([
    ['no object', 'text'],
    ['another kind of schema', { type: 'string' }],
    ['objects in it', form({ a: { type: 'object', properties: {} } })],
    ['a list of anything', form({ a: { type: 'array', items: { type: 'string' } } })],
    ['a choice of numbers', form({ a: { type: 'string', enum: [1, 2] } })],
    ['no choice', form({ a: { type: 'string', enum: [] } })],
    ['a field without a type', form({ a: {} })],
    ['a field that is null', form({ a: null })],
    [
      'more fields than a form has',
      form(Object.fromEntries(Array.from({ length: 51 }, (_, n) => [n, { type: 'string' }]))),
    ],
  ])('is not created from %s', (_what, requested) => {
    expect(readForm(requested)).toBeUndefined()
  })

  const given = readForm(
    form(
      {
        name: { type: 'string', maxLength: 3 },
        mail: { type: 'string', format: 'email' },
        site: { type: 'string', format: 'uri' },
        day: { type: 'string', format: 'date' },
        at: { type: 'string', format: 'date-time' },
        size: { type: 'string', enum: ['s', 'l'] },
        age: { type: 'integer', minimum: 1 },
        sure: { type: 'boolean' },
        some: { type: 'array', items: { enum: ['a', 'b'] }, maxItems: 1 },
        __proto__: { type: 'string' },
      },
      ['age'],
    ),
  )
  test.each<readonly [content: { readonly [name: string]: unknown }, misfit: string | undefined]>([
    [{ age: 7, name: 'Ada', size: 'l', sure: false, some: ['b'] }, undefined],
    [{ name: 'Ada' }, 'age is missing'],
    [{ age: 7, mail: 'a@b', site: 'https://a.example', day: '2026-01-31', at: '2026-01-31T12:00:00Z' }, undefined],
    [{ age: 7, mail: 'ab' }, 'mail has the wrong type'],
    [{ age: 7, site: 'here' }, 'site has the wrong type'],
    [{ age: 7, day: '2026-13-01' }, 'day has the wrong type'],
    [{ age: 7, at: 'today' }, 'at has the wrong type'],
    [{ age: 7.5 }, 'age has the wrong type'],
    [{ age: 0 }, 'age has the wrong type'],
    [{ age: '7' }, 'age has the wrong type'],
    [{ age: 7, name: 'Long' }, 'name has the wrong type'],
    [{ age: 7, size: 'm' }, 'size has the wrong type'],
    [{ age: 7, sure: 'yes' }, 'sure has the wrong type'],
    [{ age: 7, some: ['a', 'b'] }, 'some has the wrong type'],
    [{ age: 7, some: ['c'] }, 'some has the wrong type'],
    [{ age: 7, more: 'x' }, 'more has the wrong type'],
    [{ age: 7, constructor: 'x' }, 'constructor has the wrong type'],
  ])('accepts %j: %s', (content, problem) => {
    expect(given).toBeDefined()
    expect(formContentProblem(given ?? { properties: {} }, content)?.slice(0, problem?.length)).toBe(problem)
  })
})

describe('a question of a server', () => {
  const name: ElicitationRequest = { message: 'Your name?', requestedSchema: form({ name: { type: 'string' } }) }

  function startQuestions(capabilities: ClientCapabilities, reply: (asked: unknown, signal: AbortSignal) => unknown) {
    const [notes, asked, notified] = [[] as string[], [] as unknown[], [] as unknown[][]]
    const listeners: ((event: SessionEvent) => void)[] = []
    const client = {
      request: async (
        _method: string,
        params: unknown,
        { cancellationSignal }: { cancellationSignal: AbortSignal },
      ) => {
        asked.push(params)
        return reply(params, cancellationSignal)
      },
      notify: async (...notification: unknown[]) => void notified.push(notification),
    } as unknown as AgentContext
    const questions = new ServerQuestions({ client, capabilities, note: (text) => void notes.push(text) })
    const session = {
      id: 's1',
      listen: (listener: (event: SessionEvent) => void) => void listeners.push(listener),
    } as unknown as Session
    const emit = (event: SessionEvent): void => listeners.forEach((listener) => listener(event))
    return { questions, session, notes, asked, notified, emit }
  }
  const forms = { elicitation: { form: {} } }
  const never = (_asked: unknown, signal: AbortSignal) =>
    new Promise((_resolve, reject) => signal.addEventListener('abort', () => reject(new Error('aborted'))))
  const waits = new AbortController().signal

  test('is shown with the name of the server, and its answer reaches the server', async () => {
    const { questions, session, notes, asked } = startQuestions(forms, () => ({
      action: 'accept',
      content: { name: 'Ada' },
    }))
    questions.attach(session)
    expect(await questions.ask('crm', name, waits)).toEqual({ action: 'accept', content: { name: 'Ada' } })
    expect(asked).toEqual([
      {
        mode: 'form',
        sessionId: 's1',
        message: 'The server crm asks: Your name?',
        requestedSchema: { type: 'object', properties: { name: { type: 'string' } } },
        _meta: { 'halting/server': 'crm' },
      },
    ])
    expect(notes).toEqual([])
  })

  test.each<readonly [what: string, reply: unknown, answer: object]>([
    ['a no', { action: 'decline' }, { action: 'decline' }],
    ['a form that was closed', { action: 'cancel' }, { action: 'cancel' }],
    ['a word that nobody knows', { action: 'later' }, { action: 'decline' }],
    ['nothing', null, { action: 'decline' }],
    ['a text', 'yes', { action: 'decline' }],
  ])('%s is not an answer', async (_what, reply, answer) => {
    const { questions, session } = startQuestions(forms, () => reply)
    questions.attach(session)
    expect(await questions.ask('crm', name, waits)).toEqual(answer)
  })

  test.each<
    readonly [
      what: string,
      capabilities: ClientCapabilities,
      reply: () => unknown,
      asks: ElicitationRequest,
      because: string,
    ]
  >([
    ['an editor without forms', {}, () => ({}), name, 'this editor does not support forms'],
    ['an editor that fails', forms, () => Promise.reject(new Error('no window')), name, 'could not ask: no window'],
    [
      'an answer that does not fit',
      forms,
      () => ({ action: 'accept', content: { name: 7 } }),
      name,
      'name has the wrong type',
    ],
    [
      'an answer without content',
      forms,
      () => ({ action: 'accept' }),
      { ...name, requestedSchema: form({}, ['name']) },
      'name is missing',
    ],
    [
      'what no form shows',
      forms,
      () => ({}),
      { message: 'Which?', requestedSchema: form({ a: { type: 'object' } }) },
      'a form cannot show what it asks for',
    ],
  ])('%s declines, and the person is notified once', async (_what, capabilities, reply, asks, because) => {
    const { questions, session, notes } = startQuestions(capabilities, reply)
    questions.attach(session)
    for (let time = 0; time < 3; time++) expect(await questions.ask('crm', asks, waits)).toEqual({ action: 'decline' })
    expect(notes).toEqual([expect.stringContaining(because)])
    expect(notes[0]).toContain(`Declined a question of the server crm, "${asks.message}"`)
  })

  test('is declined before the client knows the session', async () => {
    const { questions, notes } = startQuestions(forms, () => ({ action: 'accept' }))
    expect(await questions.ask('crm', name, waits)).toEqual({ action: 'decline' })
    expect(notes).toEqual([expect.stringContaining('not open yet')])
  })

  test('is withdrawn when its server, the run or the session ends, and the next one follows', async () => {
    const { questions, session, asked, emit, notes } = startQuestions(forms, never)
    questions.attach(session)
    const server = new AbortController()
    const [one, two] = [questions.ask('crm', name, server.signal), questions.ask('crm', name, waits)]
    await expect.poll(() => asked).toHaveLength(1)
    server.abort()
    expect(await one).toEqual({ action: 'cancel' })
    await expect.poll(() => asked).toHaveLength(2)
    emit({ type: 'closed' })
    expect(await two).toEqual({ action: 'cancel' })
    const last = questions.ask('crm', name, waits)
    await expect.poll(() => asked).toHaveLength(3)
    emit({ type: 'failed', error: 'x', givenBack: [] })
    expect(await last).toEqual({ action: 'cancel' })
    expect(notes).toEqual([])
  })

  const page = {
    mode: 'url',
    message: 'Connect\u202E',
    url: 'https://auth.example.com/connect?state=abc',
    elicitationId: 'e1',
  } as const
  const pages = { elicitation: { url: {} } }

  test.each([
    [{ action: 'accept', content: { name: 'Ada' } }, { action: 'accept' }],
    [{ action: 'decline' }, { action: 'decline' }],
    [{ action: 'cancel' }, { action: 'cancel' }],
    [null, { action: 'decline' }],
  ])('a page is shown with its whole address, and reported as finished: %j', async (reply, answer) => {
    const { questions, session, asked, notified } = startQuestions(pages, () => reply)
    questions.attach(session)
    const finished = new AbortController()
    expect(await questions.ask('crm', { ...page, completed: finished.signal }, waits)).toEqual(answer)
    const shown = {
      mode: 'url',
      sessionId: 's1',
      message: 'The server crm asks you to open a page at auth.example.com: Connect⟦U+202E⟧',
      url: page.url,
      elicitationId: 'e1',
      _meta: { 'halting/server': 'crm' },
    }
    expect(asked).toEqual([shown])
    expect(fits('CreateElicitationRequest', shown)).toBeUndefined()
    finished.abort()
    expect(notified).toEqual([['elicitation/complete', { elicitationId: 'e1' }]])
  })

  test.each([
    [{ outcome: { outcome: 'selected', optionId: 'open' } }, 'accept', 'completed'],
    [{ outcome: { outcome: 'selected', optionId: 'decline' } }, 'decline', 'failed'],
    [{ outcome: { outcome: 'cancelled' } }, 'cancel', 'failed'],
    [{ outcome: { outcome: 'selected', optionId: 'other' } }, 'decline', 'failed'],
  ])(
    'an editor that cannot show pages shows the address in a permission request: %j',
    async (reply, action, status) => {
      const { questions, session, asked, notified } = startQuestions(forms, () => reply)
      questions.attach(session)
      expect(await questions.ask('crm', page, waits)).toEqual({ action })
      expect(asked).toMatchObject([
        {
          sessionId: 's1',
          toolCall: {
            title: 'Open a page at auth.example.com?',
            content: [{ content: { text: expect.stringContaining(page.url) } }],
          },
          options: [{ optionId: 'open' }, { optionId: 'decline' }],
        },
      ])
      expect(fits('RequestPermissionRequest', asked[0])).toBeUndefined()
      expect(notified).toMatchObject([
        ['session/update', { update: { sessionUpdate: 'tool_call', toolCallId: 'halting-page-1' } }],
        ['session/update', { update: { sessionUpdate: 'tool_call_update', toolCallId: 'halting-page-1', status } }],
      ])
    },
  )

  test('a page is withdrawn with its call', async () => {
    const { questions, session } = startQuestions(forms, never)
    questions.attach(session)
    const call = new AbortController()
    const answer = questions.ask('crm', page, call.signal)
    setImmediate(() => call.abort())
    expect(await answer).toEqual({ action: 'cancel' })
  })
})
