// Holds what docs/tool-semantics.md says: each row is a call of a real tool. `HALTING_WRITE=1` regenerates that page.
import { execFileSync } from 'node:child_process'
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { createAgentTool, createPersonTools, generalAgent } from '@halting/agent'
import type { AnyTool } from '@halting/core'
import { isAgentTool } from '@halting/core/adapters'
import { createSkillTool } from '../src/instructions/skill-tool.ts'
import { createToolSearch } from '../src/mcp/tool-search.ts'
import { codingTools, type Harness, runTool } from './support/harness.ts'
import { commandRows } from './tools/semantics/command-rows.ts'
import { fileRows } from './tools/semantics/file-rows.ts'
import { otherRows } from './tools/semantics/other-rows.ts'
import type { Row } from './tools/semantics/row.ts'
import { searchRows } from './tools/semantics/search-rows.ts'

const rows: readonly Row[] = [...fileRows, ...searchRows, ...commandRows, ...otherRows]

const server = createServer((request, response) => {
  const pages: { readonly [path: string]: readonly [status: number, headers: object, body: string] } = {
    '/page': [200, { 'content-type': 'text/html' }, '<h1>Head</h1><p>Some <b>bold</b> text.</p>'],
    '/json': [200, { 'content-type': 'application/json' }, '{"one":1}'],
    '/away': [302, { location: 'https://example.com/there' }, ''],
    '/near': [302, { location: '/page' }, ''],
  }
  const [status, headers, body] = pages[request.url ?? ''] ?? [404, { 'content-type': 'text/plain' }, 'none']
  response.writeHead(status, { ...headers, connection: 'close' }).end(body)
})
let site = ''
beforeAll(async () => {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  // A server that listens on a port has an address of this kind.
  site = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
})
afterAll(() => void server.close())

const serverTool = (name: string, description: string): AnyTool => ({
  name,
  description,
  inputSchema: { type: 'object' },
  readOnly: true,
  execute: () => '',
})
const hidden = [serverTool('mcp__chat__send_message', 'Sends a message'), serverTool('mcp__mail__list', 'Lists mail')]
const path = '/skills/release/SKILL.md'
const release = { name: 'release', description: 'How to release', path, body: 'Tag the commit, then build.' }
const reviewer = { name: 'reviewer', description: 'Reviews', prompt: 'You review changes.', tools: ['Read'] }

/** The tools that a session creates in addition to the coding tools. */
const others: readonly AnyTool[] = [
  ...createPersonTools(),
  createAgentTool({
    definitions: [generalAgent, { ...reviewer, disallowedTools: [], level: 'user' }],
    mode: () => 'default',
  }),
  // The only fields of a skill that the tool reads.
  createSkillTool(
    () => [release as never],
    async (_skill, given) => ({ text: `${release.body} ${given}`, notes: [] }) as never,
  ),
  createToolSearch(
    () => ['chat', 'mail'],
    () => hidden,
    () => undefined,
  ),
]

interface Answered {
  readonly text: string
  readonly isError: boolean
}

async function answerTo({ tool: name, call }: Pick<Row, 'tool' | 'call'>, { cwd, use }: Harness): Promise<Answered> {
  // Replaces the placeholders for the folder and the page in a row: it stays JSON.
  const text = JSON.stringify(call).replaceAll('{cwd}', cwd).replaceAll('{site}', site)
  const input: unknown = JSON.parse(text)
  const other = others.find((each) => each.name === name)
  if (other === undefined) return use(name, input)
  return isAgentTool(other) ? spawned(other, input) : runTool(other, input)
}

function spawned(tool: Extract<AnyTool, { spawn: unknown }>, input: unknown): Answered {
  const check = tool.validate?.(input)
  if (check?.valid !== true) return { text: check?.message ?? '', isError: true }
  try {
    const context = { permissionMode: 'default', tools: ['Read', 'Bash'] }
    // The only fields of a parent that are read.
    const run = tool.spawn(check.input as never, context as never)
    return { text: JSON.stringify(run), isError: false }
  } catch (thrown) {
    return { text: JSON.stringify(String(thrown)), isError: true }
  }
}

async function prepare({ given = {} }: Row, harness: Harness): Promise<void> {
  const { cwd } = harness
  for (const [name, content] of Object.entries(given.files ?? {})) {
    mkdirSync(dirname(join(cwd, name)), { recursive: true })
    writeFileSync(join(cwd, name), content)
  }
  const make = (): void => void (given.made !== undefined && execFileSync('bash', ['-c', given.made], { cwd }))
  // Files that are read first are changed afterwards.
  const changesWhatWasRead = given.files !== undefined && given.calls !== undefined
  if (!changesWhatWasRead) make()
  for (const [tool, call] of given.calls ?? []) await answerTo({ tool, call }, harness)
  if (changesWhatWasRead) make()
}

describe('a call shows what the reference documents', () => {
  test.each(rows.map((row) => [`${row.tool}: ${row.reference}`, row] as const))('%s', async (_name, row) => {
    const harness = codingTools({}, { web: { privateHosts: ['127.0.0.1'] } })
    await prepare(row, harness)
    const { text, isError } = await answerTo(row, harness)
    const wanted = row.answer.replaceAll('{cwd}', harness.cwd)
    expect(text.includes(wanted) ? wanted : text).toBe(wanted)
    expect([text, isError]).toEqual([text, row.isError === true])
  })

  test('there are at least 120, of all tools', () => {
    expect(rows.length).toBeGreaterThanOrEqual(120)
    const tools = new Set(rows.map(({ tool }) => tool))
    expect(
      [...codingTools().tools.map(({ name }) => name), ...others.map(({ name }) => name)].filter(
        (name) => !tools.has(name),
      ),
    ).toEqual([])
  })
})

const page = fileURLToPath(new URL('../../../docs/tool-semantics.md', import.meta.url))

const cellOf = (text: string): string =>
  text
    .replaceAll('|', String.raw`\|`)
    .replaceAll('\n', '⏎')
    .replaceAll('\t', '⇥')
const code = (text: string): string => (text.includes('`') ? `\`\` ${text} \`\`` : `\`${text}\``)

function pageOf(): string {
  const tools = [...new Set(rows.map(({ tool }) => tool))]
  const same = rows.filter(({ how }) => how === 'same').length
  const tables = tools.map((tool) => {
    const lines = rows
      .filter((row) => row.tool === tool)
      .map(({ reference, call, answer, isError, how }) => {
        const answered = `${isError === true ? 'error: ' : ''}${code(cellOf(answer))}`
        return `| ${cellOf(reference)} | ${code(cellOf(JSON.stringify(call).slice(0, 120)))} | ${answered} | ${cellOf(how)} |`
      })
    return `## ${tool}\n\n| the reference documents | a call | our answer has | same, or why not |\n|---|---|---|---|\n${lines.join('\n')}`
  })
  return `# Tools, side by side

What the documents of Claude Code say of its tools, and what ours answer. Each row is a call that the tests make, in a folder that fits: ${rows.length} of them, ${same} the same.
This page is made of \`packages/agent/test/tools/semantics\` by \`HALTING_WRITE=1 npx vitest run packages/agent/test/tool-semantics.test.ts\`.

${tables.join('\n\n')}
`
}

test('docs/tool-semantics.md is up to date', () => {
  if (process.env['HALTING_WRITE'] === '1') writeFileSync(page, pageOf())
  expect(readFileSync(page, 'utf8')).toBe(pageOf())
})
