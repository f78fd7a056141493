// Holds R-READS-1 to R-READS-3 of docs/spec: docs/what-the-model-reads.md has everything that models read. `HALTING_WRITE=1` writes it.
import { readFileSync, writeFileSync } from 'node:fs'
import { roughTokens } from '@halting/core/adapters'
import { expect, test } from 'vitest'
import { proseIn, proseOutsideTexts, renderTexts, textsFiles } from '../../core/test/support/model-texts.ts'
import { exceptions, folders } from './support/prose-elsewhere.ts'
import { here, installProgram } from './support/program.ts'
import {
  type CannedReply,
  type OfferedSchema,
  type OfferedTool,
  type RecordedRequest,
  recordRequest,
} from './support/recorded-request.ts'

installProgram()

const page = new URL('../../../docs/what-the-model-reads.md', import.meta.url)

/** Files elsewhere whose prose for models is only in texts files. */
const rooms = [
  'packages/agent/src/coding-agent/system-prompt.ts',
  'packages/agent/src/memory/memory-text.ts',
  ...['media-part', 'prompt', 'user-turn'].map((name) => `packages/models/src/ai-sdk/${name}.ts`),
  'packages/models/src/openai/chat-messages.ts',
]

const requestOf = recordRequest()

/** The request of a run after these replies. */
function requestAfter(replies: readonly CannedReply[], ...flags: readonly string[]): Promise<RecordedRequest> {
  return requestOf(['-p', 'hi', ...flags], { replies })
}

/** Requests other than the first one of a run. */
async function laterSections(usual: RecordedRequest): Promise<readonly string[]> {
  const input = { description: 'Find the parser', prompt: 'Find the parser.' }
  const glob = { name: 'Glob', input: { pattern: '*.none' } }
  const judge = await requestAfter([glob, { text: 'Done.' }], '--goal', 'the parser is found')
  const agent = await requestAfter([{ name: 'Agent', input }])
  const last = await requestAfter([glob], '--max-turns', '1', '--wrap-up')
  const schema = '{"type":"object","properties":{"files":{"type":"integer"}},"required":["files"]}'
  const structured = await requestWith('--json-schema', schema)
  const usualLines = new Set(systemLines(usual))
  const json = (messages: readonly unknown[]): string =>
    `\`\`\`json\n${withoutPlace(JSON.stringify(messages, undefined, 2))}\n\`\`\``
  return [
    '## The request of a subagent',
    `\`\`\`text\n${systemLines(agent).join('\n')}\n\`\`\``,
    json(agent.messages),
    `Its tools: ${agent.tools.map(({ name }) => name).join(', ')}.`,
    '## The last message of the request for a last answer (`--max-turns 1 --wrap-up`)',
    json(last.messages.slice(-1)),
    '## The request of the judge of a goal (`--goal`)',
    `\`\`\`text\n${systemLines(judge).join('\n')}\n\`\`\``,
    json(judge.messages),
    '## What `--json-schema` adds',
    `\`\`\`text\n${systemLines(structured)
      .filter((line) => !usualLines.has(line))
      .join('\n')}\n\`\`\``,
  ]
}

function systemLines({ system }: RecordedRequest): readonly string[] {
  return withoutPlace(system.map(({ text }) => text).join('\n')).split('\n')
}

/** The first request with these flags. */
async function requestWith(...flags: readonly string[]): Promise<RecordedRequest> {
  return requestOf(['-p', 'hi', ...flags])
}

/** The first request of a program that drives `halting` and answers its questions. */
async function requestOfHost(): Promise<RecordedRequest> {
  const message = { type: 'user', message: { role: 'user', content: 'hi' }, parent_tool_use_id: null, session_id: '' }
  const format = ['--input-format', 'stream-json', '--output-format', 'stream-json', '--verbose']
  return requestOf(['-p', ...format, '--permission-prompt-tool', 'stdio'], { stdin: `${JSON.stringify(message)}\n` })
}

test('has every text that models read', { timeout: 60_000 }, async () => {
  const request = await requestWith()
  const files = await textsFiles()
  const text = `${[
    '# What the model reads',
    'Made by `packages/cli/test/what-the-model-reads.test.ts` from the program itself; `HALTING_WRITE=1` writes it anew. A change of a text is seen here.',
    '## The system prompt of `halting -p`',
    `\`\`\`text\n${withoutPlace(request.system.map((block) => block.text).join('\n\n'))}\n\`\`\``,
    '## The tools of `halting -p`',
    ...request.tools.map((tool) => renderTool(tool)),
    ...(await answeredSections(request)),
    ...(await planSections()),
    ...(await profileSections(request)),
    ...(await laterSections(request)),
    '## What comes back, reminders and questions',
    'Each text with the name of its constant or function; functions are called with samples.',
    ...files.map((file) => renderTexts(file)),
  ].join('\n\n')}\n`
  const isToWrite = process.env['HALTING_WRITE'] === '1'
  if (isToWrite) writeFileSync(page, text)
  expect(isToWrite ? text : readFileSync(page, 'utf8')).toBe(text)
})

/** If somebody answers questions: what differs from `-p`. */
async function answeredSections(usual: RecordedRequest): Promise<readonly string[]> {
  const answered = await requestOfHost()
  const linesOf = ({ system }: RecordedRequest): readonly string[] =>
    withoutPlace(system.map(({ text }) => text).join('\n')).split('\n')
  const usualLines = new Set(linesOf(usual))
  const usualTools = new Set(usual.tools.map(renderTool))
  const lines = linesOf(answered).filter((line) => !usualLines.has(line))
  return [
    '## Where somebody answers questions',
    'What differs from `halting -p`: lines of the system prompt, and tools.',
    `\`\`\`text\n${lines.join('\n')}\n\`\`\``,
    ...answered.tools.map(renderTool).filter((tool) => !usualTools.has(tool)),
  ]
}

/** What a request in plan mode has in addition. */
async function planSections(): Promise<readonly string[]> {
  const { messages } = await requestWith('--permission-mode', 'plan')
  const text = withoutPlace(JSON.stringify(messages, undefined, 2))
  return ['## The messages of `halting -p --permission-mode plan hi`', `\`\`\`json\n${text}\n\`\`\``]
}

/** The profiles of `toolProfile`: what differs from the default. */
async function profileSections(usual: RecordedRequest): Promise<readonly string[]> {
  const usualTools = new Set(usual.tools.map(renderTool))
  const [codex, small] = [await requestWith('--tool-profile', 'codex'), await requestWith('--tool-profile', 'small')]
  return [
    '## The tools of `--tool-profile codex`',
    'Tools that differ from the default. Edit and Write are not offered.',
    ...codex.tools.map(renderTool).filter((tool) => !usualTools.has(tool)),
    '## The system prompt of `--tool-profile small`',
    `\`\`\`text\n${withoutPlace(small.system.map((block) => block.text).join('\n\n'))}\n\`\`\``,
    '## The tools of `--tool-profile small`',
    ...small.tools.map(renderTool),
  ]
}

function tokensOf({ system, tools }: RecordedRequest): number {
  return roughTokens.estimate(JSON.stringify(system)) + roughTokens.estimate(JSON.stringify(tools))
}

test('has at most 1,100 tokens in the request of the profile small, and fewer than 4,000 in that of codex', async () => {
  expect(tokensOf(await requestWith('--tool-profile', 'small'))).toBeLessThanOrEqual(1_100)
  expect(tokensOf(await requestWith('--tool-profile', 'codex'))).toBeLessThan(4_000)
})

test('has fewer than 4,000 tokens in the default request', async () => {
  expect(tokensOf(await requestWith())).toBeLessThan(4_000)
})

const excepted = new Set(Object.values(exceptions).flat())

test.each([...folders, ...rooms])('%s has prose for models only in texts files', (path) => {
  expect(proseOutsideTexts(path).filter((found) => !excepted.has(found.slice(0, found.indexOf(': '))))).toEqual([])
})

test.each([...excepted])('%s is still an exception', (path) => {
  expect(proseOutsideTexts(path)).not.toEqual([])
})

test.each([
  ["const a = 'the file was not found'", 1],
  ['const a = `the file ${name} was not found`', 1],
  ["throw new TypeError('the file was not found')", 0],
  ["const a = { description: 'the file was not found' }", 0],
  ["const a = flag('the file was not found')", 0],
  ["const a = ['--no-config', 'task_id', 'one two']", 0],
])('%s has prose %i times', (source, count) => {
  expect(proseIn(source, 'a.ts')).toHaveLength(count)
})

/** The location of the test, the system, the day and marks of judges differ. */
function withoutPlace(text: string): string {
  return text
    .replaceAll(here(), '/home/you/project')
    .replaceAll(/ #[\da-z]{8,14}(?=\\n|$)/gm, ' #MARK')
    .replace(/^Platform: .*$/m, 'Platform: linux 6.1')
    .replace(/^Date: .*$/m, 'Date: 2026-01-31')
}

function renderTool({ name, description, input_schema: schema }: OfferedTool): string {
  return `### ${name}\n\n${description}\n\n${renderFields(schema, '').join('\n')}`
}

function renderFields({ properties = {}, required = [] }: OfferedSchema, indent: string): readonly string[] {
  return Object.entries(properties).flatMap(([name, field]) => {
    const { type = 'any', description = '', enum: choices, items } = field
    const facts = [
      type,
      ...(choices === undefined ? [] : [choices.join(' | ')]),
      ...(required.includes(name) ? ['required'] : []),
    ]
    const line = `${indent}- \`${name}\` (${facts.join(', ')})${description === '' ? '' : `: ${description}`}`
    return [line, ...renderFields(items ?? field, `${indent}  `)]
  })
}
