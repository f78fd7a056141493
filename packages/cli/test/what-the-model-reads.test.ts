// Holds R-READS-1 to R-READS-3 of docs/spec.md: docs/what-the-model-reads.md has all that models read. `HALTING_WRITE=1` writes it anew.
import { readFileSync, writeFileSync } from 'node:fs'
import { roughTokens } from '@halting/core/adapters'
import { expect, test } from 'vitest'
import { proseIn, proseOutsideTexts, renderTexts, textsFiles } from '../../core/test/support/model-texts.ts'
import {
  type FirstRequest,
  type OfferedSchema,
  type OfferedTool,
  recordFirstRequest,
  type Reply,
} from './support/first-request.ts'
import { here, installProgram } from './support/program.ts'

installProgram()

const page = new URL('../../../docs/what-the-model-reads.md', import.meta.url)

/** Where everything that is prose is read by models: folders and files that have it in texts files alone. */
const rooms = [
  'packages/agent/src/after/agent-summary.ts',
  'packages/agent/src/context/carry-over.ts',
  'packages/agent/src/goals/command-goal.ts',
  'packages/agent/src/hooks/core-hooks.ts',
  'packages/agent/src/hooks/shell-hooks.ts',
  'packages/agent/src/media/fit-image.ts',
  'packages/agent/src/agents/agent-tool.ts',
  'packages/agent/src/agents/definition.ts',
  'packages/agent/src/coding-agent/system-prompt.ts',
  'packages/agent/src/instructions/folder-instructions.ts',
  'packages/agent/src/instructions/git-summary.ts',
  'packages/agent/src/instructions/instruction-text.ts',
  'packages/agent/src/instructions/run-written.ts',
  'packages/agent/src/instructions/session-prompts.ts',
  'packages/agent/src/instructions/skill-tool.ts',
  'packages/agent/src/tools/apply-patch.ts',
  'packages/agent/src/mcp/http-transport.ts',
  'packages/agent/src/mcp/link.ts',
  'packages/agent/src/mcp/needs-sign-in.ts',
  'packages/agent/src/mcp/repair/content-blocks.ts',
  'packages/agent/src/mcp/resource-tools.ts',
  'packages/agent/src/mcp/results.ts',
  'packages/agent/src/mcp/schema/merged-forms.ts',
  'packages/agent/src/mcp/server-handle.ts',
  'packages/agent/src/mcp/server-tool.ts',
  'packages/agent/src/mcp/stdio-transport.ts',
  'packages/agent/src/mcp/tool-search.ts',
  'packages/agent/src/tools/background-tasks.ts',
  'packages/agent/src/tools/background.ts',
  'packages/agent/src/tools/bash.ts',
  'packages/agent/src/tools/bounded-output.ts',
  'packages/agent/src/tools/changed-files.ts',
  'packages/agent/src/tools/edit-file.ts',
  'packages/agent/src/tools/edit-notebook.ts',
  'packages/agent/src/tools/edit.ts',
  'packages/agent/src/tools/editor-files.ts',
  'packages/agent/src/tools/find-files.ts',
  'packages/agent/src/tools/glob.ts',
  'packages/agent/src/tools/grep.ts',
  'packages/agent/src/tools/input-list.ts',
  'packages/agent/src/tools/input.ts',
  'packages/agent/src/tools/leave-running.ts',
  'packages/agent/src/tools/left-running.ts',
  'packages/agent/src/tools/line-reader.ts',
  'packages/agent/src/tools/name-hints.ts',
  'packages/agent/src/tools/nearest-place.ts',
  'packages/agent/src/tools/notebook-edit.ts',
  'packages/agent/src/tools/notebook.ts',
  'packages/agent/src/tools/numbered-lines.ts',
  'packages/agent/src/tools/output-spool.ts',
  'packages/agent/src/memory/memory-text.ts',
  'packages/agent/src/tools/patches',
  'packages/agent/src/tools/person-tools.ts',
  'packages/agent/src/tools/precheck.ts',
  'packages/agent/src/tools/read-notebook.ts',
  'packages/agent/src/tools/read-pdf.ts',
  'packages/agent/src/tools/read.ts',
  'packages/agent/src/tools/ripgrep.ts',
  'packages/agent/src/tools/search-files.ts',
  'packages/agent/src/tools/search-globs.ts',
  'packages/agent/src/tools/search-root.ts',
  'packages/agent/src/tools/shell-command.ts',
  'packages/agent/src/tools/small-tools.ts',
  'packages/agent/src/tools/start-folder.ts',
  'packages/agent/src/tools/task-list',
  'packages/agent/src/tools/task-output.ts',
  'packages/agent/src/tools/task-stop.ts',
  'packages/agent/src/tools/task-words.ts',
  'packages/agent/src/tools/telling-failures.ts',
  'packages/agent/src/tools/text-file.ts',
  'packages/agent/src/tools/todo-form.ts',
  'packages/agent/src/tools/todo-write.ts',
  'packages/agent/src/tools/tool-profile.ts',
  'packages/agent/src/tools/wait.ts',
  'packages/agent/src/tools/waits',
  'packages/agent/src/tools/web-fetch.ts',
  'packages/agent/src/tools/web-search.ts',
  'packages/agent/src/tools/workspace.ts',
  'packages/agent/src/tools/write-file.ts',
  'packages/agent/src/tools/write.ts',
  'packages/agent/src/web',
]

const coreRooms = [
  ...['collapse', 'compact', 'persons-words', 'shorten', 'summarize'].map(inCore('context')),
  ...['evidence', 'judge-question', 'judged-goal'].map(inCore('goals')),
  ...['media-problem', 'too-much'].map(inCore('media')),
  ...['can-use-tool', 'output', 'permission-decision', 'schema', 'schema-check', 'schema-keywords'].map(
    inCore('tools'),
  ),
  ...['schema-kinds', 'shortened', 'tool-result'].map(inCore('tools')),
  ...['after-tools', 'background-agents', 'check-media', 'endings', 'finish-wrap-up'].map(inCore('turn')),
  ...['lowered-limit', 'over-budget', 'pause-at-limit', 'tell-limits'].map(inCore('turn')),
  ...['context/thrash', 'guards/limits', 'guards/no-progress', 'turn/calls/call-limit'].map(inCore('')),
  ...['agent-result', 'agent-share', 'ask-permission', 'batch', 'close-calls'].map(inCore('turn/calls')),
  ...['inspect-call', 'prepare-call', 'run-agent', 'save-result', 'start-agent'].map(inCore('turn/calls')),
]

const policyRooms = [
  'chosen-programs',
  'decide',
  'explain',
  'git-files',
  'git-settings',
  'hidden-commands',
  'links',
  'permissions',
  'plan-hook',
  'plan-mode',
  'unjudged',
].map((name) => `packages/policy/src/permissions/${name}.ts`)

const modelRooms = ['ai-sdk/media-part', 'ai-sdk/prompt', 'ai-sdk/user-turn', 'openai/chat-messages'].map(
  (name) => `packages/models/src/${name}.ts`,
)

function inCore(folder: string): (name: string) => string {
  return (name) => `packages/core/src/${folder === '' ? '' : `${folder}/`}${name}.ts`
}

const requestOf = recordFirstRequest()

/** The request of a run after these replies. */
async function requestAfter(given: readonly Reply[], ...flags: readonly string[]): Promise<FirstRequest> {
  return requestOf(['-p', 'hi', ...flags], '', given)
}

/** Requests that are not the first one of a run. */
async function laterSections(usual: FirstRequest): Promise<readonly string[]> {
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

function systemLines({ system }: FirstRequest): readonly string[] {
  return withoutPlace(system.map(({ text }) => text).join('\n')).split('\n')
}

/** The first request with these flags. */
async function requestWith(...flags: readonly string[]): Promise<FirstRequest> {
  return requestOf(['-p', 'hi', ...flags])
}

/** The first request of a program that drives `halting` and answers its questions. */
async function requestOfHost(): Promise<FirstRequest> {
  const message = { type: 'user', message: { role: 'user', content: 'hi' }, parent_tool_use_id: null, session_id: '' }
  const format = ['--input-format', 'stream-json', '--output-format', 'stream-json', '--verbose']
  return requestOf(['-p', ...format, '--permission-prompt-tool', 'stdio'], `${JSON.stringify(message)}\n`)
}

test('the page has every text that models read', { timeout: 60_000 }, async () => {
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

/** Where somebody answers questions: what is not the same as in `-p`. */
async function answeredSections(usual: FirstRequest): Promise<readonly string[]> {
  const answered = await requestOfHost()
  const linesOf = ({ system }: FirstRequest): readonly string[] =>
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

/** The profiles of `toolProfile`: what is not the same by default. */
async function profileSections(usual: FirstRequest): Promise<readonly string[]> {
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

function tokensOf({ system, tools }: FirstRequest): number {
  return roughTokens.estimate(JSON.stringify(system)) + roughTokens.estimate(JSON.stringify(tools))
}

test('the request of the profile small has at most 1,100 tokens, that of codex fewer than 4,000', async () => {
  expect(tokensOf(await requestWith('--tool-profile', 'small'))).toBeLessThanOrEqual(1_100)
  expect(tokensOf(await requestWith('--tool-profile', 'codex'))).toBeLessThan(4_000)
})

test('the default request has fewer than 4,000 tokens', async () => {
  expect(tokensOf(await requestWith())).toBeLessThan(4_000)
})

test.each([...rooms, ...coreRooms, ...policyRooms, ...modelRooms])(
  '%s has prose for models in texts files alone',
  (path) => {
    expect(proseOutsideTexts(path)).toEqual([])
  },
)

test.each([
  ["const a = 'the file was not found'", 1],
  ['const a = `the file ${name} was not found`', 1],
  ["throw new TypeError('the file was not found')", 0],
  ["const a = { description: 'the file was not found' }", 0],
  ["const a = flag('the file was not found')", 0],
  ["const a = ['--no-config', 'task_id', 'one two']", 0],
])('in %s prose is found %i times', (source, count) => {
  expect(proseIn(source, 'a.ts')).toHaveLength(count)
})

/** The place where the test runs, the system, the day and marks of judges differ. */
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
