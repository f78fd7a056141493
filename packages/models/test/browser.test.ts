// The build for hosts without Node: a run sends a request with `fetch` and streams its reply without any global of
// Node.
import { readFileSync } from 'node:fs'
import { compileFunction } from 'node:vm'
import { build } from 'esbuild'
import { assert, property, string, uint8Array } from 'fast-check'
import { beforeAll, expect, test } from 'vitest'
import { browserEntries, forBrowsers } from '../../../scripts/browser-bundle.mjs'
import { sources } from '../../../vitest.build.ts'
import { Buffer as HostBuffer } from '../src/browser/host.ts'
import { startScriptedServer } from '../src/scripted/index.ts'

/** The program of a page. Types and imports are resolved as by a bundler for browsers. */
const program = `
import { startRun, streamRun, tool } from '@halting/core'
import { anthropic, commandCredentials } from './index.ts'

export async function ask(baseUrl) {
  const model = anthropic({ model: 'claude-sonnet-5-5', apiKey: 'sk-ant-api03-0123456789abcdef', baseUrl })
  const look = tool({ name: 'Look', description: 'Looks', readOnly: true, execute: () => 'a wall, größer als 3 m' })
  const running = streamRun(startRun({ prompt: 'What is there?' }), { model, tools: [look], maxTurns: 3 })
  const types = new Set()
  for await (const event of running) types.add(event.type)
  const { reason, summary } = await running.result
  const { state } = await running.ended
  return { reason, requests: summary.requests, types: [...types], last: JSON.stringify(state.transcript.at(-1)) }
}

export function helper() {
  try { commandCredentials('print-key') } catch (error) { return error.message }
}
`

interface RunSummary {
  readonly reason: string
  readonly requests: number
  readonly types: readonly string[]
  readonly last: string
}

interface Page {
  readonly ask: (baseUrl: string) => Promise<RunSummary>
  readonly helper: () => string
}

/**
 * Globals of Node that browsers do not have. Node's `fetch` needs some of them, so they are hidden only from the page.
 */
const hidden = ['process', 'Buffer', 'setImmediate', 'clearImmediate', 'require', 'module', 'global']

/** Loads the page without these globals, and with browser timers, which are numbers. */
function loadPage(): Page {
  const timers: NodeJS.Timeout[] = []
  const start = (callback: () => void, ms: number): number => timers.push(setTimeout(callback, ms))
  const end = (id: number): void => clearTimeout(timers[id - 1])
  const load = compileFunction(`${code}\nreturn page`, ['setTimeout', 'clearTimeout', ...hidden]) as (
    ...given: readonly unknown[]
  ) => Page
  return load(start, end)
}

let code = ''
const inputs: string[] = []
beforeAll(async () => {
  const { outputFiles, metafile } = await build({
    ...forBrowsers,
    stdin: {
      contents: program,
      resolveDir: 'packages/models/src',
      sourcefile: 'packages/models/src/page.ts',
      loader: 'ts',
    },
    alias: {
      '@halting/core': sources['@halting/core'] ?? '',
      '@halting/core/adapters': sources['@halting/core/adapters'] ?? '',
    },
    format: 'iife',
    globalName: 'page',
    write: false,
    metafile: true,
    logLevel: 'silent',
  })
  code = outputFiles?.[0]?.text ?? ''
  inputs.push(...Object.keys(metafile?.inputs ?? {}))
})

test('bundles no file that needs Node', () => {
  expect(inputs).toContain('packages/models/src/browser/node-transport.ts')
  expect(inputs.filter((path) => /\/http\/(?:node-transport|proxy|route|tunnel|client-for)\.ts$/.test(path))).toEqual(
    [],
  )
  expect(inputs.filter((path) => path.endsWith('/command-credentials.ts'))).toEqual([
    'packages/models/src/browser/command-credentials.ts',
  ])
})

test('streams replies and executes tools without any global of Node', async () => {
  const server = await startScriptedServer({
    replies: [
      { content: ['I will look.', { type: 'tool_use', name: 'Look', input: {} }] },
      { expect: 'größer', content: 'A wall — größer als drei Meter 🧱.' },
    ],
  })
  try {
    const page = loadPage()
    const run = await page.ask(server.url)
    expect(run).toMatchObject({ reason: 'completed', requests: 2 })
    expect(run.types).toEqual(expect.arrayContaining(['model_update', 'tool_end', 'run_end']))
    expect(run.last).toContain('A wall — größer als drei Meter 🧱.')
    expect(page.helper()).toMatch(/^commandCredentials runs a command, which needs Node\. Set credentials/)
    expect(server.requests.map(({ text }) => text.includes('größer'))).toEqual([false, true])
  } finally {
    await server.close()
  }
})

test('names the build for hosts without Node before the one for Node', () => {
  const { exports } = JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8')) as {
    readonly exports: Readonly<Record<string, { readonly import?: Readonly<Record<string, string>> }>>
  }
  const paths = Object.values(exports).flatMap(({ import: modules }) => {
    const { workerd, browser, ...others } = modules ?? {}
    if (browser === undefined) return []
    expect([workerd, others['edge-light']]).toEqual([browser, browser])
    expect(Object.keys(modules ?? {}).at(-1)).toBe('default')
    return [browser.replace(/^\.\/dist\/browser\/(.*)\.js$/, '$1')]
  })
  expect(paths).toEqual(browserEntries)
})

test('handles bytes like Node: texts, their lengths, base64 and hex', () => {
  assert(
    property(string({ unit: 'binary' }), uint8Array(), (text, bytes) => {
      expect([...HostBuffer.from(text)]).toEqual([...Buffer.from(text)])
      expect(HostBuffer.byteLength(text)).toBe(Buffer.byteLength(text))
      expect(HostBuffer.concat([bytes, HostBuffer.from(text)]).toString('hex')).toBe(
        Buffer.concat([bytes, Buffer.from(text)]).toString('hex'),
      )
      for (const encoding of ['utf8', 'hex', 'base64', 'base64url'] as const)
        expect(HostBuffer.from(bytes).toString(encoding)).toBe(Buffer.from(bytes).toString(encoding))
    }),
  )
})

test('writes a text at an offset of a buffer', () => {
  assert(
    property(string({ unit: 'grapheme' }), (text) => {
      const [own, nodes] = [HostBuffer.alloc(100), Buffer.alloc(100)]
      expect(own.write(text, 3)).toBe(nodes.write(text, 3))
      expect([...own]).toEqual([...nodes])
    }),
  )
})
