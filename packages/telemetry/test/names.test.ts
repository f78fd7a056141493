// Names that are declared as names of the conventions exist there. Every exported name is one of the conventions or our
// own.
import * as conventions from '@opentelemetry/semantic-conventions/incubating'
import { expect, test } from 'vitest'
import { conventionAttributes, eventNames, metricNames, ownAttributes, providerOf, spanNames } from '../src/index.ts'
import { eventsOfARun } from './runs.ts'
import { collector, listenerOf } from './support.ts'

const known = new Set<unknown>(Object.values(conventions).filter((value) => typeof value === 'string'))
const unknownOf = (names: Iterable<string>): readonly string[] => [...new Set(names)].filter((name) => !known.has(name))
const values = (prefix: string): ReadonlySet<unknown> =>
  new Set(Object.entries(conventions).flatMap(([name, value]) => (name.startsWith(prefix) ? [value] : [])))
const isOwn = (name: string): boolean => name.startsWith('halting.')

test('uses only names of the GenAI conventions, or our own', () => {
  const metrics = Object.values(metricNames).map(([name]) => name)
  const standardNames = [...Object.values(conventionAttributes), ...metrics.filter((name) => !isOwn(name))]
  expect(unknownOf(standardNames)).toEqual([])
})

test('uses operations and providers of the conventions', () => {
  const operations = Object.values(spanNames).flatMap(([name]) =>
    isOwn(name) ? [] : [name.slice(0, name.indexOf(' '))],
  )
  expect(operations.filter((name) => !values('GEN_AI_OPERATION_NAME_VALUE_').has(name))).toEqual([])
  const models = [
    'claude-opus-5',
    'gpt-5',
    'o3',
    'gemini-3',
    'mistral-large',
    'grok-4',
    'deepseek-v4',
    'anthropic/claude-opus-5',
    'openai/gpt-5',
    'google/gemini-3',
    'mistral/codestral',
    'xai/grok-4',
    'groq/llama-4',
    'deepseek/chat',
    'perplexity/sonar',
  ]
  const providers = values('GEN_AI_PROVIDER_NAME_VALUE_')
  expect(models.map(providerOf).filter((name) => !providers.has(name))).toEqual([])
})

test('exports all content of a run only under names of the conventions or our tables', async () => {
  const to = collector()
  const { onEvent } = await listenerOf(to, { content: true, sessionId: 'session' })
  for (const event of await eventsOfARun()) onEvent(event)
  const spans = to.spans()
  const all = [
    ...spans.flatMap((span) => [span.attributes, ...span.events.map((event) => event.attributes ?? {})]),
    ...(await Promise.all(Object.values(metricNames).map(async ([name]) => to.points(name))))
      .flat()
      .map((point) => point.attributes),
  ].flatMap((attributes) => Object.entries<unknown>({ ...attributes }))
  const tokenTypes = all.flatMap(([name, value]) => (name === 'gen_ai.token.type' ? [value] : []))
  expect(new Set(tokenTypes)).toEqual(values('GEN_AI_TOKEN_TYPE_VALUE_'))
  const attributes = all.map(([name]) => name)
  expect(unknownOf(attributes.filter((name) => !isOwn(name)))).toEqual([])
  const own = new Set<string>(Object.values(ownAttributes).map(([name]) => name))
  expect(attributes.filter((name) => isOwn(name) && !own.has(name))).toEqual([])
  const events = new Set<string>(Object.values(eventNames).map(([name]) => name))
  const names = spans.flatMap((span) => span.events.map(({ name }) => name))
  expect(names.filter((name) => !events.has(name))).toEqual([])
})

test('names the conversation of attempts, questions and runs', async () => {
  const to = collector()
  const { onEvent } = await listenerOf(to)
  for (const event of await eventsOfARun()) onEvent(event)
  const named = to.spans().filter(({ attributes }) => {
    const operation = attributes['gen_ai.operation.name']
    return operation === 'chat' || operation === 'invoke_agent'
  })
  expect(new Set(named.map(({ attributes }) => attributes['gen_ai.conversation.id']))).toEqual(new Set(['session']))
})
