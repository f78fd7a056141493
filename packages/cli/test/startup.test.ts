import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { cpSync, mkdtempSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, inject, test } from 'vitest'
import { here, installProgram, programPath, run } from './support/program.ts'

installProgram()

const usage = { input_tokens: 10, output_tokens: 1 }
const message = { id: 'm', type: 'message', role: 'assistant', model: 'm', content: [], stop_reason: null, usage }
const events = [
  { type: 'message_start', message },
  { type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } },
  { type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: 'Hello.' } },
  { type: 'content_block_stop', index: 0 },
  { type: 'message_delta', delta: { stop_reason: 'end_turn' }, usage: { output_tokens: 3 } },
  { type: 'message_stop' },
]

let server: Server | undefined
let url = ''

beforeAll(async () => {
  const service = createServer((request, response) => {
    request.resume().once('end', () => {
      response.writeHead(200, { 'content-type': 'text/event-stream' })
      response.end(events.map((event) => `data: ${JSON.stringify(event)}\n\n`).join(''))
    })
  })
  await new Promise<void>((listens) => service.listen(0, '127.0.0.1', listens))
  // True: it listens on a port, so its address has one.
  url = `http://127.0.0.1:${(service.address() as AddressInfo).port}`
  server = service
})
afterAll(() => void server?.close())

/** V8's report about a script: each function with its number of calls. */
interface Coverage {
  readonly url: string
  readonly functions: readonly {
    readonly functionName: string
    readonly ranges: readonly { readonly count: number }[]
  }[]
}

/** The sources of the program that a run executes. */
async function loadedBy(
  args: readonly string[],
  env: Readonly<Record<string, string>>,
  prints: RegExp,
): Promise<readonly string[]> {
  const moduleList = mkdtempSync(join(here(), 'loaded-'))
  const { stdout } = await run(args, { env: { ...env, NODE_V8_COVERAGE: moduleList } })
  expect(stdout).toMatch(prints)
  return readdirSync(moduleList).flatMap((name) => {
    // True: Node writes this shape there.
    const { result } = JSON.parse(readFileSync(join(moduleList, name), 'utf8')) as { result: readonly Coverage[] }
    return sourcesIn(result)
  })
}

/** A script of a start contains many chunks, each a function that is called when it is first needed. Others are one chunk each. */
function sourcesIn(scripts: readonly Coverage[]): readonly string[] {
  // Written by vitest.build.ts.
  const all = JSON.parse(readFileSync(join(inject('program'), 'sources.json'), 'utf8')) as Record<string, string[]>
  return scripts
    .filter(({ url }) => url.includes('/dist/'))
    .flatMap(({ url, functions }) => {
      const file = url.replace(/^.*\/dist\//, '')
      if (file.startsWith('chunks/')) return [file.replace(/\.cjs$/, '.js')]
      const called = functions.filter(({ ranges }) => ranges.some(({ count }) => count > 0))
      return called.flatMap(({ functionName }) => /^program:(.*)$/.exec(functionName)?.[1] ?? [])
    })
    .flatMap((chunk) => all[chunk] ?? [])
}

function strangersIn(sources: readonly string[]): readonly string[] {
  const names = sources.flatMap((path) => /node_modules\/((?:@[^/]+\/)?[^/]+)/.exec(path)?.[1] ?? [])
  return [...new Set(names)].toSorted()
}

test('loads only what it uses for a run of one prompt', async () => {
  const sources = await loadedBy(['-p', 'hi'], { ANTHROPIC_API_KEY: 'k', ANTHROPIC_BASE_URL: url }, /^Hello\.\n$/)
  // Nothing else: not zod or diff, and no parser. Widths of characters are needed for every line.
  expect(strangersIn(sources)).toEqual(['get-east-asian-width'])
  const unused =
    /models\/src\/(?:scripted|ai-sdk)\/|core\/src\/(?:testing|account|what-if)\/|analysis\/src\/(?:account|export|foreign|report|sessions|view|what-if|why)\/|(?:^|cli\/)src\/(?:check|demo|sessions)\/|flags\/help/
  expect(sources.filter((path) => unused.test(path))).toEqual([])
  // Without `budgets` in the settings (spec R-STAND-19).
  expect(sources.filter((path) => path.includes('agent/src/budgets/'))).toEqual([])
  // Without a model of a provider package (spec R-PROV-9).
  expect(sources.filter((path) => /agent\/src\/providers\/(?:load-model|scoped-environment)/.test(path))).toEqual([])
  // Caches of tools, before a command has run confined to the workspace.
  expect(sources.filter((path) => /policy\/src\/sandbox\/(?:edit-caches|cache-)/.test(path))).toEqual([])
  expect(sources.filter((path) => path.endsWith('headless/run.ts'))).toHaveLength(1)
})

test.each([
  { command: 'report', prints: /sessions? of this folder/ },
  { command: 'why', prints: /completed/ },
  { command: 'sessions', prints: /hi/ },
])('loads no tool and nothing of a running session for halting $command', async ({ command, prints }) => {
  const env = { ANTHROPIC_API_KEY: 'k', ANTHROPIC_BASE_URL: url }
  await run(['-p', 'hi'], { env })
  const sources = await loadedBy([command], {}, prints)
  expect(sources.filter((path) => /agent\/src\/session\/|journal\/src\//.test(path))).not.toEqual([])
  expect(sources.filter((path) => /agent\/src\/(?:tools|mcp|sandbox|shell)\//.test(path))).toEqual([])
})

test('calls a model without loading the `fetch` client and OpenSSL, and over plain HTTP without loading TLS', async () => {
  const list = join(here(), 'modules.txt')
  const moduleList = join(here(), 'tell-modules.cjs')
  writeFileSync(
    moduleList,
    `process.on('exit', () => require('node:fs').writeFileSync(${JSON.stringify(list)}, process.moduleLoadList.join('\\n')))`,
  )
  const env = {
    ANTHROPIC_API_KEY: 'k',
    ANTHROPIC_BASE_URL: url,
    NODE_OPTIONS: `--require ${JSON.stringify(moduleList)}`,
  }
  // The first start stores its code, under a random name.
  for (let start = 0; start < 2; start++) expect((await run(['-p', 'hi'], { env })).stdout).toBe('Hello.\n')
  const loaded = readFileSync(list, 'utf8')
  expect(loaded).toContain('NativeModule _http_client')
  // zlib computes the journal's checksums.
  expect(
    loaded.split('\n').filter((name) => /undici|tls_wrap|Internal Binding crypto|NativeModule crypto/.test(name)),
  ).toEqual([])
})

const hasScript =
  process.platform === 'linux' && spawnSync('script', ['--version']).stdout?.toString().includes('util-linux')

test.skipIf(!hasScript)('accepts keys at the prompt before it loads anything that it does not need', async () => {
  const [list, watch] = [join(here(), 'scripts.json'), join(here(), 'watch.cjs')]
  // Requests bracketed paste in the first output; what is loaded by then delays the user.
  writeFileSync(
    watch,
    `const session = new (require('node:inspector').Session)()
    session.connect()
    session.post('Profiler.enable')
    session.post('Profiler.startPreciseCoverage', { callCount: true, detailed: false })
    const write = process.stdout.write
    process.stdout.write = function (text, ...more) {
      if (String(text).includes('\\u001B[?2004h')) {
        session.post('Profiler.takePreciseCoverage', (_error, { result }) =>
          require('node:fs').writeFileSync(${JSON.stringify(list)}, JSON.stringify(result)))
        process.kill(process.pid, 'SIGTERM')
      }
      return write.call(this, text, ...more)
    }`,
  )
  const command = [process.execPath, '--require', watch, programPath()].map((part) => `'${part}'`).join(' ')
  const env = { PATH: process.env['PATH'], HOME: here(), TERM: 'xterm', ANTHROPIC_API_KEY: 'k' }
  const terminal = spawn('script', ['-qefc', command, '/dev/null'], {
    cwd: here(),
    env,
    stdio: ['pipe', 'ignore', 'inherit'],
  })
  await once(terminal, 'close')
  // True: V8 reports this shape.
  const sources = sourcesIn(JSON.parse(readFileSync(list, 'utf8')) as readonly Coverage[])
  expect(sources.filter((path) => path.endsWith('terminal/run-terminal.ts'))).toHaveLength(1)
  expect(strangersIn(sources)).toEqual(['@earendil-works/pi-tui', 'get-east-asian-width'])
  const later =
    /models\/src\/(?:scripted|ai-sdk)\/|core\/src\/(?:testing|account|what-if)\/|(?:^|cli\/)src\/(?:acp|check|demo|host|mcp|sessions|setup)\/|headless\/(?:headless|report|run)|open-session\/open-session|flags\/help/
  expect(sources.filter((path) => later.test(path))).toEqual([])
})

test('writes only ASCII into scripts that are read as Latin-1', () => {
  const dist = join(inject('program'), 'dist')
  const scripts = readdirSync(dist, { recursive: true, encoding: 'utf8' }).filter((name) => name.endsWith('.cjs'))
  expect(scripts).toContain('start.cjs')
  // Node itself loads the lazy parsers, as UTF-8.
  const read = scripts.filter((name) => !name.endsWith('-parser.cjs'))
  expect(read.filter((name) => readFileSync(join(dist, name)).some((byte) => byte > 0x7f))).toEqual([])
})

test('reports that an update has removed parts of the running program', async () => {
  const folder = join(here(), 'updated')
  for (const part of ['bin', 'package.json', 'dist/start.cjs'])
    cpSync(join(inject('program'), part), join(folder, part), { recursive: true })
  const env = { PATH: process.env['PATH'], HOME: here() }
  const ended = spawnSync(process.execPath, [join(folder, 'bin/halting.js'), '--help'], { cwd: here(), env })
  expect(ended.stderr.toString()).toMatch(
    /^halting: A part of halting is not there \(chunks\/[\w-]+\.cjs\): it was updated or removed while it ran\. Start it again, or install it anew\.\n$/,
  )
  expect(ended.status).toBe(1)
})
